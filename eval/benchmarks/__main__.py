"""`python -m eval.benchmarks`: what a benchmark on disk holds, and what is wrong with its rows."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eval.benchmarks.types import Question
from indexes.errors import CommandParser, one_line, run_command

EXAMPLES = """\
examples:
  python -m eval.benchmarks mmlongbench-v2 --data data/mmlongbench
      counts, and every row with a problem; such rows are kept and asked
  python -m eval.benchmarks docscope --data data/docscope --pdfs data/filings --format json
      the same for a program, with documents that lie elsewhere
"""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = CommandParser("python -m eval.benchmarks", "Says what a benchmark on disk holds.", EXAMPLES)
    made.add_argument("benchmark", metavar="NAME", help="such as docscope or mmlongbench-v2")
    made.add_argument("--data", type=Path, required=True, metavar="DIR", help="the benchmark as published")
    made.add_argument("--pdfs", type=Path, metavar="DIR", help="its documents, if not in DIR of --data")
    made.add_argument("--split", help="only the questions of this split")
    made.add_argument("--format", choices=("text", "json"), default="text")
    return made


def describe(questions: Sequence[Question]) -> dict[str, Any]:
    """Counts of a benchmark and its problems by question id."""
    return {
        "questions": len(questions),
        "answerable": sum(question.answerable for question in questions),
        "documents": len({path for question in questions for path in question.documents}),
        "several_documents": sum(len(question.documents) > 1 for question in questions),
        "gold_pages": sum(len(question.gold_pages) for question in questions),
        "gold_regions": sum(len(question.gold_regions) for question in questions),
        "gold_facts": sum(len(question.gold_facts) for question in questions),
        "splits": dict(Counter(question.split for question in questions if question.split)),
        "with_problems": sum(bool(question.problems) for question in questions),
        "problems": {question.id: list(question.problems) for question in questions if question.problems},
    }


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    from eval.benchmarks import find_benchmark, load

    options = parser().parse_args(argv)
    benchmark = find_benchmark(options.benchmark)
    questions = load(options.benchmark, options.data, options.split, options.pdfs)
    found = {
        "benchmark": benchmark.title,
        "release": benchmark.release(len(questions)) or "none, or not all of it",
        **describe(questions),
    }
    if options.format == "json":
        sys.stdout.write(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
        return 0
    problems = found.pop("problems")
    splits = ", ".join(f"{name} {count}" for name, count in found.pop("splits").items())
    for name, value in {**found, **({"splits": splits} if splits else {})}.items():
        sys.stdout.write(f"{name.replace('_', ' '):18} {value}\n")
    for question_id, lines in problems.items():
        sys.stdout.write(f"{one_line(question_id)}: {'; '.join(map(one_line, lines))}\n")
    return 0


if __name__ == "__main__":
    run_command(main)
