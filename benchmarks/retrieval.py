"""Page retrieval measured: recall, any_hit and all_hit at 1, 4 and 10, whole and with parts taken away.

    python benchmarks/retrieval.py DATA
    python benchmarks/retrieval.py DATA --collection financebench --save found.jsonl

DATA holds `mmlongbench/` (samples.json, documents/) and `financebench/` (questions.jsonl, pdfs/), or one of
them. Answerable questions with gold pages are counted; a gold page that the document does not have counts as
missed. Intervals are 95 %, by resampling documents 1,000 times. Documents are indexed first where they are
not yet, scans by OCR, which takes a while.
"""

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:] = [
    str(HERE.parent),
    *(p for p in sys.path if Path(p or ".").resolve() != HERE),
]  # named like a package

import numpy as np  # noqa: E402

from eval.benchmarks import Question, load  # noqa: E402
from eval.metrics.retrieval import all_hit_at_k, any_hit_at_k, recall_at_k  # noqa: E402
from indexes.document import Document  # noqa: E402
from indexes.errors import InputError, run_command  # noqa: E402
from retrieval.fusion import WEIGHTS, fuse, ranking, with_neighbours  # noqa: E402
from retrieval.hybrid import open_retriever  # noqa: E402

COLLECTIONS = {"mmlongbench": "mmlongbench-v2", "financebench": "financebench"}  # folder: benchmark
KS = (1, 4, 10)
PARTS = 5
MARKS = ("<!-- measured -->", "<!-- end of measured -->")
MEASURES = {"recall": recall_at_k, "any_hit": any_hit_at_k, "all_hit": all_hit_at_k}
BM25 = frozenset(name for name in WEIGHTS if name.startswith("bm25"))
VOCABULARY = frozenset(name for name in WEIGHTS if name.startswith("vocabulary")) | {"statements"}
ALL = frozenset(WEIGHTS)
KEPT: Mapping[str, frozenset[str]] = {
    "full": ALL,
    "no late interaction": ALL - {"late interaction"},
    "no pooled": ALL - {"pooled"},
    "no BM25": ALL - BM25,
    "no lookups": ALL - {"lookups"},
    "no vocabulary": ALL - VOCABULARY,
    **{f"{name} alone": frozenset({name}) for name in ("late interaction", "pooled", *sorted(BM25))},
}
Scores = np.ndarray[tuple[int], np.dtype[np.float32]]


@dataclass(frozen=True, slots=True)
class Found:
    """What a retriever found for a question, and in how many seconds a warm `retrieve` did."""

    signals: Mapping[str, Scores]
    weights: Mapping[str, float]
    seconds: float


@dataclass(frozen=True, slots=True)
class Row:
    """A question's ranking under one setting: pages 1-based, best first."""

    collection: str
    document: str
    question: str
    gold: tuple[int, ...]
    setting: str
    ranked: tuple[int, ...]
    seconds: float = 0.0
    found: Found | None = None


def main() -> int:
    """Measures and prints; progress goes to stderr."""
    options = _parser().parse_args()
    rows: list[Row] = []
    for name in options.collection or COLLECTIONS:
        folder = options.data / name
        if folder.is_dir():
            rows += measured(name, load(COLLECTIONS[name], folder), options)
    if not rows:
        raise InputError(f"{options.data}: no {' or '.join(COLLECTIONS)} there with questions to measure on")
    names = dict.fromkeys(row.collection for row in rows)
    text = "".join(report(name, [row for row in rows if row.collection == name]) for name in names)
    if options.cross_validate:
        text += cross_validated(rows)
    sys.stdout.write(text)
    if options.write:
        before, _, rest = options.write.read_text(encoding="utf-8").partition(MARKS[0])
        after = rest.partition(MARKS[1])[2]
        options.write.write_text(f"{before}{MARKS[0]}\n{text}{MARKS[1]}{after}", encoding="utf-8")
    if options.save:
        names = [name for name in Row.__dataclass_fields__ if name != "found"]
        lines = [json.dumps({name: getattr(row, name) for name in names}) for row in rows]
        options.save.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="the folder that holds the collections")
    parser.add_argument("--collection", action="append", choices=sorted(COLLECTIONS), help="only this one")
    parser.add_argument("--with-text", action="store_true", help="leave out documents that OCR alone reads")
    parser.add_argument("--cross-validate", action="store_true", help="choose the weights on other documents")
    parser.add_argument(
        "--write", type=Path, metavar="FILE", help=f"put the tables between its {MARKS[0]} marks"
    )
    parser.add_argument("--save", type=Path, metavar="FILE", help="rankings as JSON lines")
    return parser


def measured(collection: str, questions: Sequence[Question], options: argparse.Namespace) -> list[Row]:
    """The rankings of all questions that can be measured; says what was left out."""
    by_document: dict[Path, list[Question]] = defaultdict(list)
    missing = 0
    for question in questions:
        if question.answerable and question.gold_pages:
            if question.documents[0].exists():
                by_document[question.documents[0]].append(question)
            else:
                missing += 1
    asked = sum(map(len, by_document.values()))
    sys.stderr.write(
        f"{collection}: {len(questions)} questions, {asked} to measure, "
        f"{missing} of documents that are not there\n"
    )
    rows: list[Row] = []
    for number, (path, asked_of) in enumerate(sorted(by_document.items()), 1):
        sys.stderr.write(f"[{number}/{len(by_document)}] {path.name}\n")
        rows += document_rows(collection, path, asked_of, options.with_text)
    return rows


def document_rows(collection: str, path: Path, questions: Sequence[Question], with_text: bool) -> list[Row]:
    """All settings' rankings of a document's questions; `no OCR` differs only where OCR read pages."""
    with Document.open(path, ocr=True) as document:
        ocred = len(document.ocred)
        if with_text and ocred == len(document):
            return []
        full = plain = _found(document, questions)
    if ocred:
        with Document.open(path, ocr=False) as document:
            plain = _found(document, questions)
    rows = []
    for question, found, without_ocr in zip(questions, full, plain, strict=True):
        about = (collection, path.name, question.question, question.pages_in())
        rows.extend(
            Row(*about, name, ranked(found, kept), found.seconds, found if name == "full" else None)
            for name, kept in KEPT.items()
        )
        rows.append(Row(*about, "no OCR", ranked(without_ocr, ALL)))
    return rows


def _found(document: Document, questions: Sequence[Question]) -> list[Found]:
    retriever = open_retriever(document)
    retriever.retrieve(questions[0].question, max(KS))  # warm
    found = []
    for question in questions:
        start = time.perf_counter()
        retriever.retrieve(question.question, max(KS))
        seconds = time.perf_counter() - start
        evidence = retriever.evidence(question.question)
        found.append(Found(evidence.signals, evidence.weights, seconds))
    return found


def ranked(found: Found, kept: frozenset[str], weights: Mapping[str, float] | None = None) -> tuple[int, ...]:
    """Pages, 1-based, best first, from some of the signals; by other weights where they are given."""
    signals = {name: scores for name, scores in found.signals.items() if name in kept}
    scores = fuse(signals, found.weights if weights is None else weights)
    if len(kept) > 1:
        scores = with_neighbours(scores)
    return tuple(row + 1 for row in ranking(scores))


def cross_validated(rows: Sequence[Row]) -> str:
    """How well weights do that were chosen on other documents, beside the fixed ones, in Markdown.

    Documents are dealt into five parts. For each part every weight in turn is halved or doubled as long as
    the mean recall at 1, 4 and 10 on the other parts grows; the result is measured on the part.
    """
    full = [row for row in rows if row.setting == "full" and row.found is not None]
    documents = sorted({(row.collection, row.document) for row in full})
    np.random.default_rng(0).shuffle(documents)
    part = {document: i % PARTS for i, document in enumerate(documents)}
    chosen: list[tuple[Row, tuple[int, ...]]] = []
    for i in range(PARTS):
        factors = _chosen_factors([row for row in full if part[row.collection, row.document] != i])
        here = [row for row in full if part[row.collection, row.document] == i]
        chosen.extend((row, _reranked(row, factors)) for row in here)
    lines = [
        "### Weights chosen on other documents",
        "",
        "| collection | weights | recall@1/4/10 |",
        "|---|---|---|",
    ]
    for name in dict.fromkeys(row.collection for row in full):
        for how, pairs in (
            ("fixed", [(row, row.ranked) for row in full]),
            ("chosen on other documents", chosen),
        ):
            recalls = [[recall_at_k(p, r.gold, k) for k in KS] for r, p in pairs if r.collection == name]
            lines.append(f"| {name} | {how} | {' / '.join(f'{v:.3f}' for v in np.mean(recalls, axis=0))} |")
    return "\n".join(lines) + "\n\n"


def _reranked(row: Row, factors: Mapping[str, float]) -> tuple[int, ...]:
    if row.found is None:
        raise ValueError(f"{row.question}: no signals kept")
    return ranked(row.found, ALL, {n: w * factors.get(n, 1.0) for n, w in row.found.weights.items()})


def _chosen_factors(rows: Sequence[Row]) -> dict[str, float]:
    def quality(factors: Mapping[str, float]) -> float:
        means = []
        for name in {row.collection for row in rows}:
            of_it = [row for row in rows if row.collection == name]
            means.append(
                np.mean([[recall_at_k(_reranked(r, factors), r.gold, k) for k in KS] for r in of_it])
            )
        return float(np.mean(means))

    factors = dict.fromkeys(WEIGHTS, 1.0)
    best = quality(factors)
    for name in factors:
        for change in (0.5, 2.0):
            trial = {**factors, name: change}
            value = quality(trial)
            if value > best:
                best, factors = value, trial
    return factors


def report(collection: str, rows: Sequence[Row]) -> str:
    """A collection's table in Markdown."""
    full = [row for row in rows if row.setting == "full"]
    documents = sorted({row.document for row in full})
    seconds = sorted(row.seconds for row in full)
    head = [f"{measure}@{k}" for measure in MEASURES for k in KS]
    lines = [
        f"### {collection}: {len(full)} questions on {len(documents)} documents",
        "",
        f"| setting | {' | '.join(head)} |",
        "|---" * (len(head) + 1) + "|",
    ]
    for setting in ("full", "no OCR", *(name for name in KEPT if name != "full")):
        cells = [_cell(rows, setting, documents, measure, k) for measure in MEASURES for k in KS]
        lines.append(f"| {setting} | {' | '.join(cells)} |")
    lines.append("")
    lines.append(
        f"A warm query took {1000 * seconds[len(seconds) // 2]:.0f} ms in the median, "
        f"{1000 * seconds[int(0.95 * (len(seconds) - 1))]:.0f} ms at the 95th percentile."
    )
    return "\n".join(lines) + "\n\n"


def _cell(rows: Sequence[Row], setting: str, documents: Sequence[str], measure: str, k: int) -> str:
    sums = {name: [0.0, 0] for name in documents}
    for row in rows:
        if row.setting == setting:
            sums[row.document][0] += MEASURES[measure](row.ranked, row.gold, k)
            sums[row.document][1] += 1
    mean, low, high = bootstrap(np.array([sums[name] for name in documents]))
    interval = f" ({low:.2f}-{high:.2f})" if measure == "recall" else ""
    return f"{mean:.3f}{interval}"


def bootstrap(sums: "np.ndarray[tuple[int, int], np.dtype[np.float64]]") -> tuple[float, float, float]:
    """Mean over questions and its 95 % interval, resampling documents; `(documents, 2)` sums and counts."""
    rng = np.random.default_rng(0)
    picks = rng.integers(0, len(sums), size=(1000, len(sums)))
    totals = sums[picks].sum(axis=1)
    low, high = np.percentile(totals[:, 0] / totals[:, 1], [2.5, 97.5])
    return float(sums[:, 0].sum() / sums[:, 1].sum()), float(low), float(high)


if __name__ == "__main__":
    run_command(main)
