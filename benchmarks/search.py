"""Late interaction over one document, against what others do with the same vectors, on one thread.

    OMP_NUM_THREADS=1 python benchmarks/search.py                  # 200 and 2,300 pages, a minute or two
    OMP_NUM_THREADS=1 python benchmarks/search.py --pages 200

Pages are made up (see `synthetic.py`): 700 to 750 vectors of 128 dimensions, and queries of 20 vectors.
Rivals hold their vectors in memory, in float32 or bfloat16, ours stay in the index on disk. Times are CPU
seconds, the best of some rounds, so that other work on the machine hardly enters. Recall is of the ten
pages that float32 finds best.
"""

import argparse
import functools
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from search_once import memory_of_search
from synthetic import DIM, page_vectors, query_of, write_document

from indexes.encoders.protocol import QueryEmbedding
from indexes.encoders.torchvision_shim import make_torchvision_importable
from indexes.errors import InputError, run_command
from indexes.index import PageIndex
from indexes.ivf import open_or_build_ivf
from indexes.maxsim import best_pages, total
from indexes.search import Method

Floats = NDArray[np.float32]
Search = Callable[[QueryEmbedding], list[int]]
K = 10
NEIGHBOURS = (10, 100, 1000)  # of a query vector, for the search without rescoring


@dataclass(frozen=True, slots=True)
class Data:
    """A document in all the forms that are compared."""

    pages: Sequence[Floats]
    queries: Sequence[QueryEmbedding]
    index: PageIndex
    flat: Any


def main() -> int:
    """Measures and prints tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pages", type=int, nargs="+", default=[200, 2300], help="(default: 200 2300)")
    parser.add_argument("--queries", type=int, default=5, help="(default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=11, help="(default: %(default)s)")
    options = parser.parse_args()
    if os.environ.get("OMP_NUM_THREADS") != "1":
        raise InputError("OMP_NUM_THREADS is not 1: one thread is compared with one; set it")
    make_torchvision_importable()
    import torch

    torch.set_num_threads(1)
    for pages in options.pages:
        with tempfile.TemporaryDirectory() as folder:
            _measure(Path(folder), pages, options)
    return 0


def _measure(folder: Path, count: int, options: argparse.Namespace) -> None:
    import faiss

    pages = [page_vectors(number) for number in range(count)]
    chosen = np.random.default_rng(1).choice(count, min(count, options.queries), replace=False)
    vectors = sum(map(len, pages))
    _line(f"\n## {count} pages, {vectors} vectors\n\n| build | seconds | KB a page |\n|---|---|---|")
    seconds, index = _timed(lambda: write_document(folder / "index", "document", range(count), pages))
    size = sum(file.stat().st_size for file in (folder / "index").iterdir())
    _line(f"| ours, everything | {seconds:.2f} | {size / count / 1000:.1f} |")
    file = folder / "index" / "vectors.faiss"
    _line(f"| of that the vectors | | {file.stat().st_size / count / 1000:.1f} |")
    seconds, ivf = _timed(lambda: open_or_build_ivf(index, folder / "ivf"))
    index.ivf = ivf
    found = (folder / "ivf" / "ivf.faiss").stat().st_size
    _line(f"| ours, to find likely pages | {seconds:.2f} | {found / count / 1000:.1f} |")
    flat: Any = faiss.IndexFlatIP(DIM)
    seconds, _ = _timed(lambda: [flat.add(page) for page in pages])
    _line(f"| float32 in FAISS flat, in memory | {seconds:.2f} | {vectors * DIM * 4 / count / 1000:.1f} |\n")
    data = Data(pages, [query_of(int(number)) for number in chosen], index, flat)
    _compare(data, options.rounds)
    _rounding(data)
    for torch in (False, True):
        peak, before = memory_of_search([folder / "index"], torch=torch)
        _line(
            f"\nA process that searches once, {'with' if torch else 'without'} PyTorch: peak "
            f"{peak / 1e6:.0f} MB, {before / 1e6:.0f} MB of it before it opens\nthe index of "
            f"{size / 1e6:.0f} MB. Opening and searching add {(peak - before) / size:.2f} of it; the peak is "
            f"{peak / size:.2f} of it."
        )


def _compare(data: Data, rounds: int) -> None:
    def ours(method: Method) -> Search:
        return lambda query: [ref.page - 1 for ref, _ in data.index.search(query, K, method)]

    def unpacking(query: QueryEmbedding) -> list[int]:
        return best_pages(total(data.index.best_matches(query)), K)

    searches: dict[str, Search] = {"**ours, exact**": ours("exact"), "**ours, ivf**": ours("ivf")}
    searches["ours, exact, as without PyTorch"] = unpacking
    searches |= {"NumPy, float32": _numpy(data), **_colpali(data)}
    for neighbours in NEIGHBOURS:
        searches[f"FAISS flat, {neighbours} neighbours a vector, not rescored"] = _per_token(data, neighbours)
    best = [set(searches["NumPy, float32"](query)) for query in data.queries]
    _line(f"| search | ms | times ours, exact | recall@{K} |\n|---|---|---|---|")
    first = 0.0
    for name, search in searches.items():
        taken, recalls = [], []
        for query, pages in zip(data.queries, best, strict=True):
            results = [_timed(functools.partial(search, query)) for _ in range(rounds)]
            taken += [seconds for seconds, _ in results]
            recalls.append(len(pages & set(results[0][1])) / len(pages))
        seconds = min(taken)
        first = first or seconds
        _line(f"| {name} | {seconds * 1000:.1f} | {seconds / first:.2f} | {np.mean(recalls):.3f} |")


def _rounding(data: Data) -> None:
    """How far 16 bits move similarities and scores, against float32."""
    moved, sums = [], []
    for query in data.queries:
        exact = np.array([(page @ query.vectors.T).max(axis=0) for page in data.pages])
        kept = data.index.best_matches(query)
        moved.append(float(np.abs(kept - exact).max()))
        sums.append(float(np.abs(kept.sum(axis=1) - exact.sum(axis=1)).max()))
    _line(
        f"\n16 bits move a similarity by at most {max(moved):.1e}, a page's score by at most {max(sums):.1e}"
    )


def _numpy(data: Data) -> Search:
    def search(query: QueryEmbedding) -> list[int]:
        transposed = np.ascontiguousarray(query.vectors.T)
        scores = np.array([(page @ transposed).max(axis=0).sum() for page in data.pages])
        return [int(row) for row in np.argsort(-scores, kind="stable")[:K]]

    return search


def _colpali(data: Data) -> dict[str, Search]:
    """colpali-engine's own scoring, which every one of its processors has."""
    import torch
    from colpali_engine.utils.processing_utils import BaseVisualRetrieverProcessor

    def made(dtype: Any) -> Search:
        pages = [torch.from_numpy(page).to(dtype) for page in data.pages]

        def search(query: QueryEmbedding) -> list[int]:
            asked = [torch.from_numpy(query.vectors).to(dtype)]
            scores = BaseVisualRetrieverProcessor.score_multi_vector(asked, pages, device="cpu")[0]
            return [int(row) for row in scores.topk(min(K, len(pages))).indices]

        return search

    name = "score_multi_vector of colpali-engine"
    return {f"{name}, float32": made(torch.float32), f"{name}, bfloat16": made(torch.bfloat16)}


def _per_token(data: Data, neighbours: int) -> Search:
    """As M3DocRAG searches: each query vector's neighbours, of which each page's best are added up."""
    owners = np.repeat(np.arange(len(data.pages)), [len(page) for page in data.pages])

    def search(query: QueryEmbedding) -> list[int]:
        similarities, found = data.flat.search(query.vectors, neighbours)
        scores = np.zeros(len(data.pages), np.float32)
        for values, places in zip(similarities, owners[found], strict=True):
            best = np.zeros(len(scores), np.float32)
            np.maximum.at(best, places, values)
            scores += best
        return [int(row) for row in np.argsort(-scores, kind="stable")[:K] if scores[row] > 0]

    return search


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def _line(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    run_command(main)
