"""Accuracy and F1 of the `cpu` agent's answers on MMLongBench-Doc and FinanceBench, by rules.

    python benchmarks/answers.py DATA                          # the whole agent
    python benchmarks/answers.py DATA --setting oracle         # the gold pages given, no retrieval
    python benchmarks/answers.py DATA --benchmark financebench

MMLongBench answers are scored by the rules of the benchmark's first version on the questions of the second;
FinanceBench by the rule of `eval.metrics.answers`: the first number within 1 %, or the words contained.
Intervals are bootstrapped over documents. `--save FILE` keeps facts and answers, from which
`benchmarks/calibration.py` fits the abstention threshold.
"""

import argparse
import json
import random
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:] = [  # a script beside this one is named like a package
    str(HERE.parent),
    *(p for p in sys.path if Path(p or ".").resolve() != HERE),
]

from agent.readers import load_reader  # noqa: E402
from agent.types import UNANSWERABLE, EvidenceRegion, Fact, FactDraft, Reader, ReadTask  # noqa: E402
from eval.benchmarks import Question, load  # noqa: E402
from eval.metrics import answers  # noqa: E402
from eval.metrics.mmlongbench import NOT_ANSWERABLE, aggregate, score_answer  # noqa: E402
from indexes.document import Document  # noqa: E402
from indexes.errors import InputError, run_command  # noqa: E402
from indexes.types import BBox  # noqa: E402

COLLECTIONS = {"mmlongbench": "mmlongbench-v2", "financebench": "financebench"}  # folder: benchmark

Rounds = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class Row:
    """A question answered: the agent's answer, its ledger, and the pages read in each round."""

    id: str
    document: str
    question: str
    gold: str
    answer_format: str
    answerable: bool
    prediction: str
    score: float
    seconds: float
    facts: tuple[Fact, ...]
    read: tuple[tuple[int, ...], ...] = ()


def prediction_for_scoring(text: str) -> str:
    """The one place where our abstention becomes the benchmark's."""
    return NOT_ANSWERABLE if text == UNANSWERABLE else text


def _score(benchmark: str, question: Question, prediction: str) -> float:
    if benchmark == "mmlongbench":
        return score_answer(question.answer, prediction_for_scoring(prediction), question.answer_format)
    return float(answers.score_answer(question.answer, prediction))


# ---- settings


def _facts(drafts: Sequence[FactDraft], round_number: int, first: int) -> list[Fact]:
    """Drafts as facts without the graph's grounding: the page stands for the region."""
    whole = BBox(0.0, 0.0, 1.0, 1.0)
    return [
        Fact(
            f"f{first + i}",
            d.text,
            d.quote,
            (EvidenceRegion(d.ref, whole),),
            "exact",
            round_number,
            d.score,
            d.part,
        )
        for i, d in enumerate(drafts)
    ]


def answer_from_gold_pages(
    question: Question, document: Document, reader: Reader
) -> tuple[str, Sequence[Fact], Rounds]:
    """Plans, reads the gold pages at once, answers."""
    pages = document.layout([p for p in question.pages_in() if p <= len(document)][:12])
    plan = reader.plan(question.question, document.outline)
    task = ReadTask(question.question, plan, list(pages.values()), (), (), document.outline)
    facts = _facts(reader.read(task).drafts, 1, 1)
    return reader.answer(question.question, plan, facts).text, facts, [list(pages)]


Answer = Callable[[Question], tuple[str, Sequence[Fact], Rounds]]


@contextmanager
def _oracle(path: Path) -> Iterator[Answer]:
    from agent.config import load_config
    from indexes.encoders import load_encoder

    reader = load_reader(load_config("cpu"), load_encoder("minilm"))
    with Document.open(path) as document:
        yield lambda question: answer_from_gold_pages(question, document, reader)


@contextmanager
def _agent(path: Path) -> Iterator[Answer]:
    from agent.answer import open_asker
    from agent.config import load_config

    with open_asker(path, load_config("cpu")) as asker:

        def ask(question: Question) -> tuple[str, Sequence[Fact], Rounds]:
            trajectory = asker.ask(question.question)
            return (
                trajectory.answer,
                trajectory.facts,
                [[ref.page for ref in r.read] for r in trajectory.rounds],
            )

        yield ask


SETTINGS = {"agent": _agent, "oracle": _oracle}


def _run(questions: list[Question], benchmark: str, setting: str) -> Iterator[Row]:
    by_document: dict[Path, list[Question]] = defaultdict(list)
    for question in questions:
        by_document[question.documents[0]].append(question)
    for path, asked in by_document.items():
        try:
            with SETTINGS[setting](path) as answer:
                for question in asked:
                    started = time.perf_counter()
                    prediction, facts, read = answer(question)
                    seconds = time.perf_counter() - started
                    score = _score(benchmark, question, prediction)
                    yield replace(_row(question, prediction, score, seconds, facts), read=_tuples(read))
        except InputError as error:
            sys.stderr.write(f"{path.name}: {error}\n")


def _tuples(read: Rounds) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(pages) for pages in read)


def _row(question: Question, prediction: str, score: float, seconds: float, facts: Sequence[Fact]) -> Row:
    return Row(
        question.id,
        question.documents[0].name,
        question.question,
        question.answer,
        question.answer_format,
        question.answerable,
        prediction,
        score,
        seconds,
        tuple(facts),
    )


# ---- tables


def _measure(rows: Sequence[Row]) -> dict[str, float]:
    samples = [
        {
            "answer": r.gold if r.answerable else NOT_ANSWERABLE,
            "pred": prediction_for_scoring(r.prediction),
            "score": r.score,
        }
        for r in rows
    ]
    return aggregate(samples)


def interval(rows: Sequence[Row], name: str, samples: int = 1000) -> tuple[float, float]:
    """A 95 % bootstrap interval over documents."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.document].append(row)
    keys = sorted(groups)
    draw = random.Random(0)
    values = sorted(
        _measure([row for key in draw.choices(keys, k=len(keys)) for row in groups[key]])[name]
        for _ in range(samples)
    )
    return values[int(0.025 * samples)], values[int(0.975 * samples)]


def _table(rows: Sequence[Row]) -> str:
    groups: dict[str, list[Row]] = {"all": list(rows)}
    for row in rows:
        groups.setdefault("answerable" if row.answerable else "unanswerable", []).append(row)
    for row in sorted(rows, key=lambda r: r.answer_format):
        groups.setdefault(f"format {row.answer_format or '-'}", []).append(row)
    lines = [f"{'':18} {'n':>4} {'abstained':>9} {'correct':>8} {'accuracy':>8} {'95 %':>15}"]
    for name, part in groups.items():
        abstained = sum(r.prediction == UNANSWERABLE for r in part)
        low, high = interval(part, "accuracy")
        lines.append(
            f"{name:18} {len(part):4} {abstained:9} {sum(r.score for r in part):8.2f} "
            f"{_measure(part)['accuracy']:8.3f} {low:7.3f}-{high:.3f}"
        )
    low, high = interval(rows, "f1")
    lines.append(f"F1 {_measure(rows)['f1']:.3f} ({low:.3f}-{high:.3f})")
    seconds = sorted(r.seconds for r in rows)
    lines.append(f"seconds a question: median {seconds[len(seconds) // 2]:.2f}, longest {seconds[-1]:.2f}")
    return "\n".join(lines)


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


def _save(rows: Sequence[Row], path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(asdict(row), ensure_ascii=False) + "\n")


def read_rows(path: Path) -> list[Row]:
    """Rows as `--save` wrote them."""
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines():
        raw: dict[str, Any] = json.loads(line)
        raw["read"] = _tuples(raw.get("read", ()))
        raw["facts"] = tuple(_fact(f) for f in raw["facts"])
        rows.append(Row(**raw))
    return rows


def _fact(raw: dict[str, Any]) -> Fact:
    from indexes.types import PageRef

    regions = tuple(EvidenceRegion(PageRef(**r["ref"]), BBox(**r["bbox"])) for r in raw["regions"])
    return Fact(**{**raw, "regions": regions})


def main() -> int:
    """Runs the benchmark and prints its table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="folder that holds mmlongbench/ and financebench/")
    parser.add_argument("--benchmark", choices=sorted(COLLECTIONS), default="mmlongbench")
    parser.add_argument("--setting", choices=sorted(SETTINGS), default="agent")
    parser.add_argument("--limit", type=int, help="the first N questions only")
    parser.add_argument("--save", type=Path, help="write facts and answers to this file")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table into a page of docs/")
    arguments = parser.parse_args()
    questions = load(COLLECTIONS[arguments.benchmark], arguments.data / arguments.benchmark)
    if arguments.setting == "oracle":
        questions = [q for q in questions if q.gold_pages]
    rows = []
    for row in _run(questions[: arguments.limit], arguments.benchmark, arguments.setting):
        rows.append(row)
        sys.stderr.write(f"\r{len(rows)} questions, {sum(r.score for r in rows):.1f} correct")
    sys.stderr.write("\n")
    if arguments.save:
        _save(rows, arguments.save)
    table = _table(rows)
    sys.stdout.write(table + "\n")
    if arguments.write:
        title = f"{arguments.benchmark}, {arguments.setting}: {len(rows)} questions\n"
        write_block(arguments.write, f"{arguments.benchmark} {arguments.setting}", title + table)
    return 0


if __name__ == "__main__":
    run_command(main)
