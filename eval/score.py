"""`python -m eval.score`: tables of one run or several, or of anyone's predictions."""

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from eval.scoring import ScoredRun
from eval.sources import Source, run_source, score_source
from eval.tables import RENDERERS
from indexes.errors import CommandParser, InputError, run_command

if TYPE_CHECKING:
    from eval.judge import Judge

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
  python -m eval.score runs/docscope --judge judge.yaml --judge-regions eyes.yaml
      a chat model judges answers and facts, another one regions; verdicts are kept, failed ones asked again

official: as the public scorers count. strict: every question asked for counts, failed and missing ones as
wrong. Each figure has its denominator and a 95 % bootstrap interval over documents.
"""


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
    made.add_argument("--judge", metavar="CONFIG", help="a config whose model judges answers and facts")
    made.add_argument("--judge-regions", metavar="CONFIG", help="one whose model judges regions, if another")
    made.add_argument("--judge-prompts", type=Path, metavar="DIR", help="the benchmark's own templates")
    made.add_argument("--judge-workers", type=int, default=4, metavar="N", help="requests side by side (4)")
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
    if options.judge_workers < 1:
        raise InputError(f"--judge-workers {options.judge_workers}: expected at least 1")
    sources = sources_of(options)
    with ExitStack() as stack:
        judges = {name: _judge(options, name, stack) for name in {source.benchmark for source in sources}}
        runs = [score_source(s, judges[s.benchmark], options.judge_workers) for s in sources]
    runs = _told_apart(runs, sources)
    measured = [measure(run) for run in runs]
    tables = []
    for benchmark in dict.fromkeys(run.benchmark for run in runs):
        group = [one for one in measured if one.run.benchmark == benchmark]
        tables += tables_of(group, read_published(benchmark) if options.published else ())
        if options.slices:
            tables += [table for one in group for table in slice_tables(one.run)]
    sys.stdout.write(render(tables, options.format))
    sys.stdout.flush()
    for one, source in zip(measured, sources, strict=True):
        if source.path.is_dir():
            write_summary(one, source.path)
    return 0


def _judge(options: argparse.Namespace, benchmark: str, stack: ExitStack) -> "Judge | None":
    """The judge that the command line names."""
    if options.judge is None:
        if options.judge_regions or options.judge_prompts:
            raise InputError("--judge-regions and --judge-prompts go with --judge CONFIG")
        return None
    from agent.config import load_config
    from eval.judge import load_judge

    regions = load_config(options.judge_regions) if options.judge_regions else None
    return stack.enter_context(
        load_judge(benchmark, load_config(options.judge), regions, options.judge_prompts)
    )


def _told_apart(runs: Sequence[ScoredRun], sources: Sequence[Source]) -> list[ScoredRun]:
    """Runs of the same name are called by their paths."""
    names = [run.name for run in runs]
    return [
        replace(run, name=str(source.path)) if names.count(run.name) > 1 else run
        for run, source in zip(runs, sources, strict=True)
    ]


if __name__ == "__main__":
    run_command(main)
