"""Search over a synthetic corpus as large as the disk allows: what a page costs, and what IVF saves.

    python benchmarks/scale.py                                   # 2,000 pages, some minutes
    python benchmarks/scale.py --pages 10000 --folder corpus     # 1.9 GB of vectors, and 0.3 GB to find pages

Pages are made up (see `synthetic.py`), some documents of 250 pages, indexed and joined as real ones are;
never more than a few of them are in memory. Exact search is the truth that recall is measured against.
A folder that is named keeps the corpus, and a later run finds it there.
Times are of one thread and count its CPU seconds, so that other work on the machine does not enter.
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
from search_once import memory_of_search
from synthetic import page_vectors, query_of, write_document

from indexes.encoders.protocol import QueryEmbedding
from indexes.errors import run_command
from indexes.index import PageIndex
from indexes.ivf import Ivf, IvfSettings, open_or_build_ivf
from indexes.joined import JoinedIndex
from indexes.pooling import pool

DOCUMENT = 250
FACTORS, POOLED = (2, 3, 4), 5  # of pooling, and pages to try it on
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Truth:
    """Queries, their best pages by exact search, and what that took a query in seconds."""

    queries: Sequence[QueryEmbedding]
    best: Sequence[set[object]]
    seconds: float


def main() -> int:
    """Builds the corpus, measures, and prints tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pages", type=int, default=2000, help="(default: %(default)s)")
    parser.add_argument("--queries", type=int, default=30, help="(default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the choice of queries (default: %(default)s)")
    parser.add_argument("--k", type=int, default=10, help="of recall@k (default: %(default)s)")
    parser.add_argument("--nlist", type=int, help="lists; by default by the size")
    parser.add_argument("--folder", type=Path, help="for the corpus (default: one that is removed)")
    options = parser.parse_args()
    import torch  # as where a model embeds queries: exact search is quicker with it on some processors

    torch.set_num_threads(1)
    if options.folder is not None:
        _measure(options.folder, options)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        _measure(Path(folder), options)
    return 0


def _measure(folder: Path, options: argparse.Namespace) -> None:
    starts = range(0, options.pages, DOCUMENT)
    folders = [folder / f"{start:06d}-{min(start + DOCUMENT, options.pages):06d}" for start in starts]
    there = [f" ({'found' if path.exists() else 'made'})" for path in (folders[-1], folder / "ivf")]
    seconds, joined = timed(lambda: JoinedIndex([_document(path) for path in folders]))
    vectors = sum(member.manifest["counts"]["vectors"] for member in joined.members)
    size = sum(map(_size, folders))
    _line(f"{options.pages} pages, {vectors} vectors of 128 dimensions, {len(folders)} documents\n")
    _line("| | seconds | ms a page | MB | KB a page |\n|---|---|---|---|---|")
    _row("pages and their indexes" + there[0], seconds, size, options.pages)
    settings = IvfSettings(nlist=options.nlist)
    seconds, ivf = timed(lambda: open_or_build_ivf(joined, folder / "ivf", settings))
    _row("the inverted file" + there[1], seconds, _size(folder / "ivf"), options.pages)
    numbers = np.random.default_rng(options.seed).choice(options.pages, options.queries, replace=False)
    truth = _truth(joined, [query_of(int(number)) for number in numbers], options.k)
    each = truth.seconds / options.pages
    _line(f"\nExact search: {truth.seconds * 1000:.1f} ms a query, {each * 1e6:.1f} µs a page\n")
    head = f"| nprobe (of {ivf.settings.nlist}) | neighbours | candidates | doubt"
    _line(f"{head} | recall@{options.k} | ms | of exact |")
    _line("|---|---|---|---|---|---|---|")
    for tried in _curve(ivf.settings):
        joined.ivf = Ivf.open(folder / "ivf", joined, tried, checksums=False)
        recall, seconds = _recall(joined, truth, options.k)
        told = f"{tried.nprobe} | {tried.neighbours} | {tried.candidates} | {tried.doubt:g}"
        mark = " (default)" if tried == ivf.settings else ""
        _line(f"| {told} | {recall:.3f}{mark} | {seconds * 1000:.1f} | {seconds / truth.seconds:.3f} |")
    for with_ivf in (None, folder / "ivf"):
        _memory(folders, with_ivf, size)
    _pooling(POOLED)


def _pooling(pages: int) -> None:
    """What merging similar vectors costs and leaves."""
    vectors = [page_vectors(number) for number in range(pages)]
    pool(vectors[0], 2)  # loads what it needs
    _line("\n| pool factor | ms a page | vectors left a page |\n|---|---|---|")
    for factor in FACTORS:
        seconds, found = timed(lambda f=factor: [pool(page, f)[0] for page in vectors])
        _line(f"| {factor} | {seconds / pages * 1000:.0f} | {np.mean([len(page) for page in found]):.0f} |")


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """What work takes in CPU seconds, and what it gives."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def _document(folder: Path) -> PageIndex:
    """The index of the pages that a folder is named after, made unless it is there."""
    if not folder.exists():
        made = folder.with_name("half-made")
        shutil.rmtree(made, ignore_errors=True)
        write_document(made, folder.name, range(*map(int, folder.name.split("-"))))
        made.rename(folder)
    return PageIndex.open(folder, checksums=False)


def _truth(joined: JoinedIndex, queries: Sequence[QueryEmbedding], k: int) -> Truth:
    joined.search(queries[0], k, "exact")  # reads the files once
    seconds, found = timed(lambda: [joined.search(query, k, "exact") for query in queries])
    return Truth(queries, [{ref for ref, _ in pages} for pages in found], seconds / len(queries))


def _recall(joined: JoinedIndex, truth: Truth, k: int) -> tuple[float, float]:
    joined.search(truth.queries[0], k, "ivf")
    seconds, found = timed(lambda: [joined.search(query, k, "ivf") for query in truth.queries])
    shares = [
        len(best & {ref for ref, _ in f}) / len(best) for best, f in zip(truth.best, found, strict=True)
    ]
    return float(np.mean(shares)), seconds / len(truth.queries)


def _curve(default: IvfSettings) -> list[IvfSettings]:
    """The default, and each of its settings moved alone."""
    nlist, nprobe = default.nlist or 1, default.nprobe or 1
    neighbours, candidates = default.neighbours or 1, default.candidates or 1
    tried = [default]
    for factor in (1 / 4, 1 / 2, 2, 4):
        tried.append(replace(default, nprobe=max(1, min(nlist, int(nprobe * factor)))))
    for factor in (1 / 20, 1 / 4, 1 / 2, 2):
        tried.append(replace(default, neighbours=max(1, int(neighbours * factor))))
    for factor in (1 / 4, 1 / 2, 2):
        tried.append(replace(default, candidates=max(1, int(candidates * factor))))
    for doubt in (0, 2, 3, 3.5, 4.5, 5, 6):
        tried.append(replace(default, doubt=doubt))
    return tried


def _memory(folders: Sequence[Path], ivf: Path | None, size: int) -> None:
    """What a process needs that does nothing but open everything and search once."""
    peak, before = memory_of_search(folders, ivf)
    _line(
        f"\nA process that searches once by {'ivf' if ivf else 'exact'}: peak {peak / 1e6:.0f} MB, "
        f"{before / 1e6:.0f} MB of it before it opens anything. The indexes are {size / 1e6:.0f} MB: opening "
        f"and searching add {(peak - before) / size:.2f} of that, the peak is {peak / size:.2f} of it."
    )


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _row(name: str, seconds: float, size: int, pages: int) -> None:
    per_page = f"{seconds / pages * 1000:.2f} | {size / 1e6:.0f} | {size / pages / 1000:.1f}"
    _line(f"| {name} | {seconds:.1f} | {per_page} |")


def _line(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    run_command(main)
