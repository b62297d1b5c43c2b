"""`python -m eval.exports`: a run's predictions as the benchmark's own scorer reads them."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from indexes.errors import CommandParser, InputError, run_command

EXAMPLES = """\
examples:
  python -m eval.exports runs/mmlongbench --out predictions.json
      MMLongBench-Doc V1: its rows with `pred`; V2: document, question and `response`
  python -m eval.exports runs/xldocbench --out exported/
      into a folder, under the name that the format has (predictions.jsonl)
  python -m eval.exports runs/docscope --out infer.jsonl
      DocScope rows as they are, in the order of the benchmark

A question that failed, or was asked for and has no row, is written as answered wrong, where the format can
say so: scorers leave out what is not in the file. Read them back with: python -m eval.score --benchmark NAME
--data DIR --predictions FILE
"""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = CommandParser(
        "python -m eval.exports", "Writes a run's predictions in its benchmark's own format.", EXAMPLES
    )
    made.add_argument("run", type=Path, metavar="RUN", help="a run folder of python -m eval.run")
    made.add_argument("--out", required=True, metavar="FILE", help="a file, or a folder")
    made.add_argument("--data", type=Path, metavar="DIR", help="the benchmark, if not where the run had it")
    made.add_argument("--pdfs", type=Path, metavar="DIR", help="its documents, if not in DIR of --data")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    from eval.benchmarks import load
    from eval.exports import from_row, missing, write_export
    from eval.rows import RowReader
    from eval.runs import ROWS
    from eval.sources import run_source

    options = parser().parse_args(argv)
    if not options.run.is_dir():
        raise InputError(f"{options.run}: no such folder; name a run folder of python -m eval.run")
    if not options.out.strip():
        raise InputError("--out: an empty name; name a file or a folder")
    source = run_source(options.run, options.data, options.pdfs)
    questions = load(source.benchmark, source.data, split=source.split, pdfs=source.pdfs)
    if source.ids is not None:
        wanted = set(source.ids)
        questions = [question for question in questions if question.id in wanted]
    known = {question.id: question for question in questions}
    predictions = {name: missing(question) for name, question in known.items()}
    answered = failed = 0
    for row in RowReader(source.path / ROWS):
        question = known.pop(str(row["question_id"]), None)
        if question is not None:
            predictions[question.id] = prediction = from_row(question, row)
            failed += prediction.failure is not None
            answered += prediction.failure is None
    written = write_export(source.benchmark, questions, predictions, Path(options.out))
    sys.stderr.write(
        f"{written} rows for {len(questions)} questions written to {options.out}: {answered} answered, "
        f"{failed} failed, {len(known)} without a row in the run\n"
    )
    return 0


if __name__ == "__main__":
    run_command(main)
