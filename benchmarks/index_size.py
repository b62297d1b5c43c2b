"""What an index keeps a page, and what fewer bits and dimensions cost in recall, against float32.

    python benchmarks/index_size.py DATA
    python benchmarks/index_size.py DATA --documents 5 --pages 40

DATA holds `mmlongbench/` and `financebench/`. Each document's pages are embedded once; every setting then
writes a real index of the same vectors, opens it and ranks the pages by late interaction alone. Recall is
over answerable questions with gold pages; a gold page beyond those embedded counts as missed. Bytes are of
all files of the index, manifest included, over all pages.
"""

import argparse
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eval.benchmarks import Question, load
from eval.metrics.retrieval import recall_at_k
from indexes.document import Document
from indexes.encoders import load_encoder
from indexes.encoders.protocol import Encoder, PageEmbedding
from indexes.errors import run_command
from indexes.index import PageIndex
from indexes.maxsim import maxsim
from indexes.types import PageRef
from indexes.vectors import IndexSettings, check_index, part_of, settings_dict, write_index

SETTINGS = {
    "16 bits, 384": IndexSettings(dim=384, bits=16),
    "8 bits, 384": IndexSettings(dim=384, bits=8),
    "8 bits, 192": IndexSettings(dim=192, bits=8),
    "8 bits, 128": IndexSettings(dim=128, bits=8),
    "4 bits, 384 (default)": IndexSettings(),
    "4 bits, 256": IndexSettings(dim=256, bits=4),
}
KS = (1, 4, 10)
PART = 16
Scores = dict[str, list[list[float]]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints a table for each collection."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--documents", type=int, help="only the first so many of each collection")
    parser.add_argument("--pages", type=int, help="only the first so many pages of each document")
    parser.add_argument("--no-ocr", dest="ocr", action="store_false")
    options = parser.parse_args(arguments)
    encoder = load_encoder("minilm")
    for name, benchmark in (("mmlongbench", "mmlongbench-v2"), ("financebench", "financebench")):
        by_document: dict[Path, list[Question]] = defaultdict(list)
        for question in load(benchmark, options.data / name):
            if question.answerable and question.gold_pages:
                by_document[question.documents[0]].append(question)
        scores: Scores = defaultdict(list)
        size: dict[str, int] = defaultdict(int)
        pages = 0
        for path, questions in sorted(by_document.items())[: options.documents]:
            with Document.open(path, ocr=options.ocr) as document:
                embeddings = list(_embed(document, encoder, options.pages))
            pages += len(embeddings)
            _measure(embeddings, questions, encoder, scores, size)
        _print(name, scores, size, pages)
    return 0


def _embed(document: Document, encoder: Encoder, limit: int | None) -> Iterator[PageEmbedding]:
    last = min(len(document), limit or len(document))
    for first in range(1, last + 1, PART):
        yield from encoder.encode_pages(list(document.pages(range(first, min(first + PART, last + 1)))))


def _measure(
    embeddings: Sequence[PageEmbedding],
    questions: Sequence[Question],
    encoder: Encoder,
    scores: Scores,
    size: dict[str, int],
) -> None:
    queries = [encoder.encode_query(question.question) for question in questions]
    golds = [set(question.pages_in()) for question in questions]
    vectors = np.concatenate([e.vectors for e in embeddings])
    offsets = np.cumsum([0, *(len(e.vectors) for e in embeddings)]).astype(np.int64)
    for query, gold in zip(queries, golds, strict=True):
        scores["float32"].append(_recalls(maxsim(query.vectors, vectors, offsets), gold))
    size["float32"] += vectors.nbytes
    for name, settings in SETTINGS.items():
        with tempfile.TemporaryDirectory() as folder:
            index = _index(embeddings, settings, Path(folder))
            size[name] += sum(file.stat().st_size for file in Path(folder).iterdir())
            for query, gold in zip(queries, golds, strict=True):
                scores[name].append(_recalls(index.maxsim(query), gold))


def _index(embeddings: Sequence[PageEmbedding], settings: IndexSettings, folder: Path) -> PageIndex:
    about = {"settings": settings_dict(settings)}
    parts = [part_of(embeddings[i : i + PART]) for i in range(0, len(embeddings), PART)]
    write_index(folder, lambda: iter(parts), about)
    refs = [PageRef(e.ref.doc_id, e.ref.page) for e in embeddings]
    return PageIndex(folder, refs, check_index(folder, about))


def _recalls(scores: NDArray[np.float32], gold: set[int]) -> list[float]:
    ranked = (np.argsort(-scores, kind="stable") + 1).tolist()
    return [recall_at_k(ranked, gold, k) for k in KS]


def _print(name: str, scores: Scores, size: dict[str, int], pages: int) -> None:
    questions = len(scores["float32"])
    sys.stdout.write(f"\n{name}: {questions} questions, {pages} pages\n")
    header = "".join(f"recall@{k:<4d}" for k in KS)
    sys.stdout.write(f"{'setting':24s}KB/page  {header}loss@10\n")
    exact = np.mean(scores["float32"], axis=0)
    for setting, rows in scores.items():
        mean = np.mean(rows, axis=0)
        recalls = "".join(f"{value:<11.3f}" for value in mean)
        sys.stdout.write(
            f"{setting:24s}{size[setting] / pages / 1000:7.1f}  {recalls}{exact[-1] - mean[-1]:+.3f}\n"
        )


if __name__ == "__main__":
    run_command(main)
