"""How well, how fast and in how much memory the pages of many documents are found in one ranking.

    python benchmarks/corpora.py DATA financebench
    python benchmarks/corpora.py DATA mmlongbench-v2 --pages 2303

All documents of a benchmark are opened together, and each question is asked of all of them. A page counts as
found only in its own document. `no documents` leaves out the signal that tells which document a query means;
`vectors only` is what a corpus without its documents can do.
"""

import argparse
import resource
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np  # noqa: E402

from eval.benchmarks import BENCHMARKS, Question, load  # noqa: E402
from indexes.document import Document  # noqa: E402
from indexes.encoders import load_encoder  # noqa: E402
from indexes.errors import InputError, run_command  # noqa: E402
from indexes.types import PageRef  # noqa: E402
from retrieval.fusion import fuse, ranking, with_neighbours  # noqa: E402
from retrieval.hybrid import HybridRetriever, open_retriever  # noqa: E402

KS = (1, 4, 10)


def main() -> int:
    """Measures and prints; progress goes to stderr."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="the folder that holds the collections")
    parser.add_argument("benchmark", choices=sorted(BENCHMARKS), help="whose documents and questions")
    parser.add_argument("--folder", help="of the benchmark in DATA (default: its name without a version)")
    parser.add_argument("--pages", type=int, help="take documents up to about so many pages in all")
    options = parser.parse_args()
    questions = [
        question
        for question in load(
            options.benchmark, options.data / (options.folder or options.benchmark.partition("-v")[0])
        )
        if question.answerable and question.gold_pages and question.documents[0].exists()
    ]
    if not questions:
        raise InputError(f"{options.data}: no questions of {options.benchmark} with documents there")
    with ExitStack() as stack:
        documents = _opened(questions, options.pages, stack)
        names = {document.doc_id for document in documents}
        asked = [q for q in questions if all(ref.doc_id in names for ref in q.gold_pages)]
        before, start = _resident(), time.perf_counter()
        retriever = open_retriever(documents, encoder=load_encoder("minilm"))
        seconds = time.perf_counter() - start
        pages = len(retriever.index.refs)
        sys.stdout.write(
            f"{len(documents)} documents, {pages} pages, {len(asked)} questions; opened in {seconds:.1f} s; "
            f"{(_resident() - before) / pages:.0f} KB a page, {_peak() / 1000:.0f} MB at most\n\n"
        )
        sys.stdout.write(_table(retriever, asked))
    return 0


def _opened(questions: Sequence[Question], most: int | None, stack: ExitStack) -> list[Document]:
    documents: list[Document] = []
    for path in sorted({path for question in questions for path in question.documents}):
        if most is None or sum(map(len, documents)) < most:
            documents.append(stack.enter_context(Document.open(path)))
            _ = documents[-1].labels  # reads it
            documents[-1].close()
    return documents


def _table(retriever: HybridRetriever, questions: Sequence[Question]) -> str:
    found: dict[str, list[list[PageRef]]] = {"full": [], "no documents": [], "vectors only": []}
    seconds = []
    retriever.retrieve(questions[0].question, max(KS))  # warm
    for question in questions:
        start = time.perf_counter()
        full = retriever.retrieve(question.question, max(KS))
        seconds.append(time.perf_counter() - start)
        found["full"].append([page.ref for page in full])
        evidence = retriever.evidence(question.question)
        kept = {name: signal for name, signal in evidence.signals.items() if name != "documents"}
        found["no documents"].append(_ranked(retriever, kept, evidence.weights))
        kept = {name: evidence.signals[name] for name in ("late interaction", "pooled")}
        found["vectors only"].append(_ranked(retriever, kept, {}))
    lines = [
        "| ranking | recall@1 | recall@4 | recall@10 | first page in the right document |",
        "|---|---|---|---|---|",
    ]
    for name, rankings in found.items():
        recalls = [
            np.mean(
                [
                    len(set(refs[:k]) & set(q.gold_pages)) / len(q.gold_pages)
                    for q, refs in zip(questions, rankings, strict=True)
                ]
            )
            for k in KS
        ]
        right = np.mean(
            [
                refs[0].doc_id in {ref.doc_id for ref in q.gold_pages}
                for q, refs in zip(questions, rankings, strict=True)
            ]
        )
        lines.append(f"| {name} | {' | '.join(f'{value:.3f}' for value in recalls)} | {right:.3f} |")
    seconds.sort()
    lines.append("")
    lines.append(
        f"A warm query took {1000 * seconds[len(seconds) // 2]:.0f} ms in the median, "
        f"{1000 * seconds[int(0.95 * (len(seconds) - 1))]:.0f} ms at the 95th percentile."
    )
    return "\n".join(lines) + "\n"


def _ranked(
    retriever: HybridRetriever, signals: Mapping[str, np.ndarray], weights: Mapping[str, float]
) -> list[PageRef]:
    scores = with_neighbours(fuse(signals, weights) if weights else fuse(signals))
    return [retriever.index.refs[row] for row in ranking(scores)[: max(KS)]]


def _resident() -> float:
    """Kilobytes of memory that the process holds now."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return float(line.split()[1])
    return 0.0


def _peak() -> float:
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


if __name__ == "__main__":
    run_command(main)
