"""`python -m eval.score`: tables of one run or several, or of anyone's predictions."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.scoring import Judging, ScoredRun, score, score_rows
from eval.tables import RENDERERS
from indexes.errors import CommandParser, InputError, run_command

EXAMPLES = """\
examples:
  python -m eval.score runs/mmlongbench
      tables of answers, cited pages, regions, facts, retrieval, rounds and cost; also summary.json in the run
  python -m eval.score runs/k4 runs/k8 --format latex
      two runs side by side and their paired differences
  python -m eval.score runs/docscope --published --slices
      published figures beside ours; accuracy by every breakdown of the benchmark
  python -m eval.score --benchmark xldocbench --data data/xldocbench --predictions theirs.jsonl
      anyone's predictions: DocScope rows, or the benchmark's own format

official: as the public scorers count. strict: every question asked for counts, failed and missing ones as
wrong. Each figure has its denominator and a 95 % bootstrap interval over documents.
"""


@dataclass(frozen=True, slots=True)
class Source:
    """Whose predictions, on what.

    Attributes:
        path: a run folder, or a file of predictions.
        benchmark: its name.
        data: its folder.
        ids: the questions asked for; None: all.
    """

    path: Path
    benchmark: str
    data: Path
    pdfs: Path | None = None
    split: str | None = None
    ids: tuple[str, ...] | None = None
    digest: str | None = None


def run_source(path: Path, data: Path | None = None, pdfs: Path | None = None) -> Source:
    """What a run folder says of itself.

    Raises:
        InputError: there is no run, or its data are not where they were.
    """
    from eval.runs import read_ids, read_manifest

    manifest = read_manifest(path)
    told = manifest.get("benchmark")
    if not isinstance(told, dict):
        raise InputError(f"{path}: the run was never begun; run python -m eval.run again")
    folder = data or Path(told["data"])
    if not folder.is_dir():
        raise InputError(f"{path}: its data are not at {folder} any more; name them with --data DIR")
    given = pdfs or (Path(told["pdfs"]) if told["pdfs"] and data is None else None)
    ids = tuple(read_ids(path))
    return Source(path, told["name"], folder, given, told["split"], ids, manifest["identity"]["data"])


def score_source(source: Source, judging: Judging | None = None) -> ScoredRun:
    """Scores a run or predictions; by rules, if nothing else is given.

    Raises:
        InputError: the data cannot be loaded or are not those of the run, or there is nothing to score.
    """
    from eval.benchmarks import load
    from eval.rules import Rules
    from eval.runs import ROWS

    questions = load(source.benchmark, source.data, split=source.split, pdfs=source.pdfs)
    if source.digest is not None:
        from eval.digest import data_digest

        if data_digest(questions) != source.digest:
            raise InputError(
                f"{source.path}: {source.data} holds other questions or gold than the run's data"
            )
    if source.ids is not None:
        wanted = set(source.ids)
        questions = [question for question in questions if question.id in wanted]
    deciding = judging or Rules(source.benchmark)
    if source.path.is_dir():
        return _score_run(source, questions, deciding, source.path / ROWS)
    return _score_file(source, questions, deciding)


def _score_run(source: Source, questions: Sequence[Any], judging: Judging, file: Path) -> ScoredRun:
    from eval.rows import RowReader

    rows = RowReader(file)
    scored, strange, repeated = score_rows(questions, rows, judging)
    return ScoredRun(
        source.path.name or str(source.path),
        source.benchmark,
        tuple(scored),
        judging.names,
        tuple(strange),
        tuple(repeated),
        rows.broken,
    )


def _score_file(source: Source, questions: Sequence[Any], judging: Judging) -> ScoredRun:
    from eval.exports import read_predictions
    from eval.trajectories import told

    found = read_predictions(source.benchmark, source.path, questions)
    scored = [score(q, (p := found.predictions[q.id]), judging, told(p.row, q.documents)) for q in questions]
    return ScoredRun(
        source.path.stem,
        source.benchmark,
        tuple(scored),
        judging.names,
        found.unknown,
        found.duplicates,
        len(found.broken),
    )


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = CommandParser(
        "python -m eval.score", "Scores runs of a benchmark, or anyone's predictions.", EXAMPLES
    )
    made.add_argument("runs", nargs="*", type=Path, metavar="RUN", help="a run folder of python -m eval.run")
    made.add_argument("--format", choices=sorted(RENDERERS), default="md", help="of the tables (default: md)")
    made.add_argument("--published", action="store_true", help="published figures beside ours")
    made.add_argument("--slices", action="store_true", help="accuracy by the benchmark's breakdowns")
    made.add_argument("--data", type=Path, metavar="DIR", help="the benchmark, if not where the run had it")
    made.add_argument("--pdfs", type=Path, metavar="DIR", help="its documents, if not in DIR of --data")
    made.add_argument("--benchmark", metavar="NAME", help="of --predictions")
    made.add_argument("--split", help="of --predictions: only the questions of this split")
    made.add_argument(
        "--predictions", nargs="+", type=Path, metavar="FILE", help="of anyone, instead of runs"
    )
    return made


def sources_of(options: argparse.Namespace) -> list[Source]:
    """What the command line asks to score."""
    if options.predictions:
        if options.runs or options.benchmark is None or options.data is None:
            raise InputError("--predictions needs --benchmark NAME and --data DIR, and takes no run folders")
        return [
            Source(path, options.benchmark, options.data, options.pdfs, options.split)
            for path in options.predictions
        ]
    if not options.runs:
        raise InputError("nothing to score: name run folders, or --predictions FILE")
    for name in ("benchmark", "split"):
        if getattr(options, name) is not None:
            raise InputError(f"--{name} goes with --predictions; a run knows its own")
    return [run_source(path, options.data, options.pdfs) for path in options.runs]


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    from eval.comparing import measure, read_published, slice_tables, tables_of
    from eval.summary import write_summary
    from eval.tables import render

    options = parser().parse_args(argv)
    sources = sources_of(options)
    runs = _told_apart([score_source(source) for source in sources], sources)
    measured = [measure(run) for run in runs]
    tables = []
    for benchmark in dict.fromkeys(run.benchmark for run in runs):
        group = [one for one in measured if one.run.benchmark == benchmark]
        tables += tables_of(group, read_published(benchmark) if options.published else ())
        if options.slices:
            tables += [table for one in group for table in slice_tables(one.run)]
    for one, source in zip(measured, sources, strict=True):
        if source.path.is_dir():
            write_summary(one, source.path)
    sys.stdout.write(render(tables, options.format))
    return 0


def _told_apart(runs: Sequence[ScoredRun], sources: Sequence[Source]) -> list[ScoredRun]:
    """Runs of the same name are called by their paths."""
    from dataclasses import replace

    names = [run.name for run in runs]
    return [
        replace(run, name=str(source.path)) if names.count(run.name) > 1 else run
        for run, source in zip(runs, sources, strict=True)
    ]


if __name__ == "__main__":
    run_command(main)
