"""A reader that is a model beside the embedded one, on a few questions of two benchmarks.

    python benchmarks/models.py DATA                                  # text-llm beside cpu, 20 questions
    python benchmarks/models.py DATA --config vllm --questions 60 --save rows.jsonl

DATA holds `mmlongbench/` and `financebench/`. Half of the questions come from each, spread evenly over its
documents, those with the fewest pages first. Every row is read back as a trajectory. MMLongBench answers are
scored by the rules of the benchmark, FinanceBench ones by `eval.metrics.answers`. With `--save` what was
answered before is not asked again.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:] = [
    str(HERE.parent),
    *(p for p in sys.path if Path(p or ".").resolve() != HERE),
]  # named like a package

from agent.answer import load_models, open_asker  # noqa: E402
from agent.config import Config, load_config  # noqa: E402
from agent.trajectory import Trajectory  # noqa: E402
from agent.types import UNANSWERABLE  # noqa: E402
from eval.benchmarks import Question, load  # noqa: E402
from eval.metrics import answers  # noqa: E402
from eval.metrics.mmlongbench import NOT_ANSWERABLE, score_answer  # noqa: E402
from indexes.errors import run_command  # noqa: E402

COLLECTIONS = {"mmlongbench": "mmlongbench-v2", "financebench": "financebench"}  # folder: benchmark


def sample(data: Path, collection: str, wanted: int) -> list[Question]:
    """Questions of one document, spread over as many documents as there are, the shortest ones first."""
    questions = [q for q in load(COLLECTIONS[collection], data / collection) if len(q.documents) == 1]
    by_document: dict[Path, list[Question]] = {}
    for question in questions:
        by_document.setdefault(question.documents[0], []).append(question)
    documents = sorted(by_document, key=lambda path: (path.stat().st_size, path.name))
    chosen: list[Question] = []
    for turn in range(max(map(len, by_document.values()))):
        chosen += [by_document[path][turn] for path in documents if turn < len(by_document[path])]
        if len(chosen) >= wanted:
            break
    return sorted(chosen[:wanted], key=lambda q: documents.index(q.documents[0]))


def scored(collection: str, question: Question, answer: str) -> float:
    """The score of an answer by the collection's rules."""
    if collection == "mmlongbench":
        said = NOT_ANSWERABLE if answer == UNANSWERABLE else answer
        return score_answer(question.answer, said, question.answer_format)
    return float(answers.score_answer(question.answer, answer, answerable=question.answerable))


def run(
    questions: Sequence[tuple[str, Question]], config: Config, known: set[tuple[str, str]]
) -> Iterator[dict[str, Any]]:
    """Asks what is not known yet; a row each, read back as a trajectory."""
    todo = [(c, q) for c, q in questions if (config.name, q.id) not in known]
    models = load_models(config) if todo else None
    for path in dict.fromkeys(q.documents[0] for _, q in todo):
        with open_asker(path, config, models=models) as asker:
            for collection, question in [(c, q) for c, q in todo if q.documents[0] == path]:
                start = time.perf_counter()
                made = asker.ask(question.question, question.id)
                row = json.loads(made.line())
                if Trajectory.from_row(row).row() != made.row():
                    raise ValueError(f"question {question.id}: its row is not read back as it was")
                yield {
                    "config": config.name,
                    "collection": collection,
                    "id": question.id,
                    "score": scored(collection, question, made.answer),
                    "gold": question.answer,
                    "answer": made.answer,
                    "answerable": question.answerable,
                    "failed": made.failure is not None,
                    "seconds": round(time.perf_counter() - start, 1),
                    "row": row,
                }


def table(rows: Sequence[dict[str, Any]]) -> str:
    """A line for each config and collection, with denominators."""
    lines = [
        "config      collection    questions  right  abstained  failed  notes  tokens/question  s/question"
    ]
    for name in dict.fromkeys(row["config"] for row in rows):
        for collection in COLLECTIONS:
            part = [r for r in rows if (r["config"], r["collection"]) == (name, collection)]
            if part:
                lines.append(_line(name, collection, part))
    return "\n".join(lines) + "\n"


def _line(name: str, collection: str, part: Sequence[dict[str, Any]]) -> str:
    runs = [row["row"]["trajectory"] for row in part]
    notes = sum(
        len(t["plan"]["notes"]) + len(t["answer"]["notes"]) + sum(len(r["notes"]) for r in t["rounds"])
        for t in runs
    )
    right, failed = sum(row["score"] for row in part), sum(row["failed"] for row in part)
    abstained = sum(row["answer"] == UNANSWERABLE for row in part)
    tokens = sum(t["usage"]["total_tokens"] for t in runs) / len(part)
    seconds = sum(row["seconds"] for row in part) / len(part)
    return (
        f"{name:<11} {collection:<13} {len(part):>9} {right:>6.2f} {abstained:>10} {failed:>7} {notes:>6} "
        f"{tokens:>16.0f} {seconds:>11.1f}"
    )


def main() -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--config", default="text-llm")
    parser.add_argument("--beside", default="cpu", help="the config to compare with")
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--save", type=Path, help="rows as JSON lines; those in it are not asked again")
    options = parser.parse_args()
    half = options.questions // 2
    questions = [("financebench", q) for q in sample(options.data, "financebench", options.questions - half)]
    questions += [("mmlongbench", q) for q in sample(options.data, "mmlongbench", half)]
    rows: list[dict[str, Any]] = []
    if options.save and options.save.exists():
        rows = [json.loads(line) for line in options.save.read_text(encoding="utf-8").splitlines()]
    for name in (options.beside, options.config):
        known = {(row["config"], row["id"]) for row in rows}
        for row in run(questions, load_config(name), known):
            rows.append(row)
            sys.stderr.write(f"{name} {row['id']}: {row['answer'][:60]!r}, gold {row['gold'][:60]!r}\n")
            if options.save:
                with options.save.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
    sys.stdout.write(table(rows))
    return 0


if __name__ == "__main__":
    run_command(main)
