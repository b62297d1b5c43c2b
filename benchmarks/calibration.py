"""Fits how sure the extractive reader is of an answer, and from where on it answers.

    python -m eval.run --benchmark mmlongbench-v2 --data DATA/mmlongbench --out runs/mmlongbench
    python benchmarks/calibration.py runs/mmlongbench            # prints the cross-validated result
    python benchmarks/calibration.py runs/mmlongbench --fit      # also writes the reader's calibration.json

A logistic regression over the features of `agent.readers.extractive.confidence`, with a ridge penalty, fitted
on whether the answer would be right (score of one half or more). The threshold is the one with the highest
accuracy: an answer is worth giving where the chance that it is right exceeds the chance that the question has
no answer. The figures of left-out documents are with weights and threshold fitted on the others.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:] = [  # a script beside this one is named like a package
    str(HERE.parent),
    *(p for p in sys.path if Path(p or ".").resolve() != HERE),
]

import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from agent.readers.extractive.answers import best_attempt  # noqa: E402
from agent.readers.extractive.confidence import features  # noqa: E402
from agent.readers.extractive.planning import make_plan  # noqa: E402
from agent.readers.extractive.question import analyse  # noqa: E402
from agent.trajectory import Trajectory  # noqa: E402
from agent.types import UNANSWERABLE, Fact  # noqa: E402
from eval.benchmarks import Question, load  # noqa: E402
from eval.metrics.mmlongbench import NOT_ANSWERABLE, aggregate, score_answer  # noqa: E402
from eval.rows import RowReader  # noqa: E402
from eval.runs import ROWS  # noqa: E402
from eval.sources import run_source  # noqa: E402
from indexes.errors import InputError, run_command  # noqa: E402

RIDGE = 4.0
OUT = Path(__file__).resolve().parents[1] / "agent/readers/extractive/calibration.json"
Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Row:
    """A question and the facts that the run recorded."""

    asked: Question
    facts: tuple[Fact, ...]

    @property
    def document(self) -> str:
        """The document's name."""
        return self.asked.documents[0].name


@dataclass(frozen=True, slots=True)
class Example:
    """A question with what would be answered: its features, its score if given, its score if abstained."""

    row: Row
    text: str
    features: dict[str, float]
    answered: float
    abstained: float


def read_run(folder: Path) -> list[Row]:
    """The rows of a run of MMLongBench-Doc that have a trajectory.

    Raises:
        InputError: there is no run, or it is of another benchmark.
    """
    source = run_source(folder)
    if not source.benchmark.startswith("mmlongbench"):
        raise InputError(f"{folder}: a run on {source.benchmark}; its answers have no rules to fit on")
    questions = {q.id: q for q in load(source.benchmark, source.data, source.split, source.pdfs)}
    rows = (row for row in RowReader(folder / ROWS) if "trajectory" in row)
    return [Row(questions[row["question_id"]], Trajectory.from_row(row).facts) for row in rows]


def prediction_for_scoring(text: str) -> str:
    """Our abstention as the benchmark writes it."""
    return NOT_ANSWERABLE if text == UNANSWERABLE else text


def example(row: Row) -> Example:
    """Recomputes the answer from the saved facts, whatever the run itself did with it."""
    asked = row.asked
    analysis = analyse(asked.question)
    attempt = best_attempt(analysis, make_plan(asked.question), row.facts)
    abstained = score_answer(asked.answer, NOT_ANSWERABLE, asked.answer_format)
    if attempt is None:
        return Example(row, UNANSWERABLE, {}, abstained, abstained)
    answered = score_answer(asked.answer, prediction_for_scoring(attempt.text), asked.answer_format)
    return Example(row, attempt.text, features(analysis, attempt, row.facts), answered, abstained)


def fit(matrix: Array, labels: Array, ridge: float = RIDGE, steps: int = 50) -> Array:
    """Logistic regression with a ridge penalty on all but the bias (column 0), by Newton's method.

    Args:
        matrix: `(n, d)`.
        labels: `(n,)`, 0 or 1.
        ridge: strength of the penalty.
        steps: Newton steps at most.

    Returns:
        weights: `(d,)`.
    """
    weights = np.zeros(matrix.shape[1])
    penalty = np.full(matrix.shape[1], ridge)
    penalty[0] = 1e-6
    for _ in range(steps):
        chance = 1 / (1 + np.exp(-matrix @ weights))
        gradient = matrix.T @ (chance - labels) + penalty * weights
        hessian = (matrix * (chance * (1 - chance))[:, None]).T @ matrix + np.diag(penalty)
        step = np.linalg.solve(hessian, gradient)
        weights -= step
        if np.abs(step).max() < 1e-8:
            break
    return weights


def table(examples: Sequence[Example], names: Sequence[str]) -> Array:
    """`(n, d)` features in the order of `names`."""
    return np.array([[e.features.get(name, 0.0) for name in names] for e in examples])


def chances(examples: Sequence[Example], names: Sequence[str], weights: Array) -> Array:
    """The estimated chance of being right, `(n,)`; 0 where there is nothing to answer."""
    raw = 1 / (1 + np.exp(-table(examples, names) @ weights))
    return np.where([bool(e.features) for e in examples], raw, 0.0)


def fitted(examples: Sequence[Example], names: Sequence[str]) -> Array:
    """The weights over examples that have an answer."""
    usable = [e for e in examples if e.features]
    labels = np.array([float(e.answered >= 0.5 and e.row.asked.answerable) for e in usable])
    return fit(table(usable, names), labels)


def best_threshold(examples: Sequence[Example], sure: Array) -> float:
    """The threshold with the highest accuracy; in the middle of the best stretch."""
    gains = np.array([e.answered - e.abstained for e in examples])
    cuts = np.linspace(0.0, 0.8, 81)
    totals = np.array([gains[sure >= cut].sum() for cut in cuts])
    smooth = np.convolve(np.pad(totals, 4, mode="edge"), np.ones(9) / 9, mode="valid")
    return float(cuts[int(smooth.argmax())])


def leave_out(examples: Sequence[Example], names: Sequence[str]) -> tuple[Array, list[bool]]:
    """Chances of left-out documents, and whether they would be answered with the others' threshold."""
    documents = sorted({e.row.document for e in examples})
    sure, answered = np.zeros(len(examples)), [False] * len(examples)
    for document in documents:
        others = [e for e in examples if e.row.document != document]
        weights = fitted(others, names)
        cut = best_threshold(others, chances(others, names, weights))
        for place, item in enumerate(examples):
            if item.row.document == document:
                sure[place] = chances([item], names, weights)[0]
                answered[place] = bool(item.features) and sure[place] >= cut
    return sure, answered


def measure(examples: Sequence[Example], answered: Sequence[bool]) -> dict[str, float]:
    """Accuracy and F1 by the benchmark's rules, with the counts they rest on."""
    samples = []
    for item, given in zip(examples, answered, strict=True):
        text = prediction_for_scoring(item.text) if given else NOT_ANSWERABLE
        score = item.answered if given else item.abstained
        gold = item.row.asked.answer if item.row.asked.answerable else NOT_ANSWERABLE
        samples.append({"answer": gold, "pred": text, "score": score})
    right = sum(s["score"] for s, e in zip(samples, examples, strict=True) if e.row.asked.answerable)
    kept = sum(s["score"] for s, e in zip(samples, examples, strict=True) if not e.row.asked.answerable)
    return {**aggregate(samples), "answerable": right, "unanswerable": kept, "answered": sum(answered)}


def _line(name: str, result: dict[str, float]) -> str:
    return (
        f"{name:34} accuracy {result['accuracy']:.3f}  F1 {result['f1']:.3f}  answered "
        f"{result['answered']:.0f}  "
        f"right: answerable {result['answerable']:.1f}, unanswerable {result['unanswerable']:.1f}"
    )


def write_block(path: Path, name: str, text: str) -> None:
    """Puts a table between `<!-- name -->` and `<!-- end -->` of a page.

    Raises:
        InputError: the page has no such place.
    """
    page = path.read_text(encoding="utf-8")
    head, found, rest = page.partition(f"<!-- {name} -->\n")
    if not found or "<!-- end -->" not in rest:
        raise InputError(f"{path}: no <!-- {name} --> followed by <!-- end -->")
    tail = rest[rest.index("<!-- end -->") :]
    path.write_text(f"{head}{found}\n```\n{text.rstrip()}\n```\n\n{tail}", encoding="utf-8")


def main() -> int:
    """Prints the cross-validated figures and the weights; writes them where asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, help="a run folder of MMLongBench-Doc")
    parser.add_argument("--fit", action="store_true", help=f"write {OUT.name} for the reader")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the result into a page of docs/")
    arguments = parser.parse_args()
    examples = [example(row) for row in read_run(arguments.run)]
    found = sorted({name for e in examples for name in e.features} - {"bias"})
    names = ["bias", *found]
    weights = fitted(examples, names)
    sure = chances(examples, names, weights)
    cut = best_threshold(examples, sure)
    _, left_out = leave_out(examples, names)
    lines = [
        f"{len(examples)} questions, {sum(bool(e.features) for e in examples)} with something to answer",
        _line("always abstaining", measure(examples, [False] * len(examples))),
        _line("always answering", measure(examples, [bool(e.features) for e in examples])),
        _line("left-out documents", measure(examples, left_out)),
        _line(f"fitted on all, threshold {cut:.2f}", measure(examples, (sure >= max(cut, 1e-9)).tolist())),
        *(f"  {name:24} {weight:+.2f}" for name, weight in zip(names, weights, strict=True)),
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    if arguments.write:
        write_block(arguments.write, "calibration", "\n".join(lines))
    if arguments.fit:
        data = {
            "threshold": round(cut, 4),
            "questions": len(examples),
            "weights": {name: round(float(weight), 4) for name, weight in zip(names, weights, strict=True)},
        }
        OUT.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    run_command(main)
