"""What the commands that ask a benchmark's questions have in common: a job, and the options that name one."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from indexes.errors import InputError

if TYPE_CHECKING:
    from agent.config import Config

WORKER = ("eval.worker",)
OPEN_SECONDS = 21_600.0  # far beyond any document of the benchmarks; it ends what would never end


@dataclass(frozen=True, slots=True)
class Job:
    """What to run.

    Attributes:
        benchmark: its name.
        data: its folder.
        out: the run folder, new or begun.
        config: a config's name, its path, or the config itself.
        split: only the questions of that split.
        limit: only the first so many questions.
        ids: only the questions of these ids.
        pdfs: where the documents lie, if not where the benchmark has them.
        workers: processes side by side; as many as the machine is good for by default.
        open_seconds: seconds that a document may take to be read and indexed; its questions fail after that.
            On a cluster there is no such limit.
        ray: a Ray cluster's address, whose workers ask instead of processes here.
        retry_failed: ask the questions again whose rows say that they failed.
        quiet: no progress bar.
        worker: who asks: a module that has `make` (`eval.worker.Opens`), and what `make` is told.
    """

    benchmark: str
    data: Path
    out: Path
    config: "str | Path | Config" = "cpu"
    split: str | None = None
    limit: int | None = None
    ids: Sequence[str] | None = None
    pdfs: Path | None = None
    workers: int | None = None
    open_seconds: float = OPEN_SECONDS
    ray: str | None = None
    retry_failed: bool = False
    quiet: bool = True
    worker: Sequence[str] = WORKER


def add_job(made: argparse.ArgumentParser, out: str, what: str) -> None:
    """The options that say what is asked, by which config, and how.

    Args:
        made: the command line.
        out: what `--out` names, as its placeholder.
        what: the same in words.
    """
    made.add_argument("--benchmark", required=True, metavar="NAME", help="docscope, mmlongbench-v2, ...")
    made.add_argument("--data", required=True, type=Path, metavar="DIR", help="the benchmark as published")
    made.add_argument("--out", required=True, metavar=out, help=what)
    made.add_argument("--config", default="cpu", help="a config's name or a YAML file (default: cpu)")
    made.add_argument("--split", help="only the questions of this split")
    made.add_argument("--limit", type=int, metavar="N", help="only the first N questions")
    made.add_argument("--ids", type=Path, metavar="FILE", help="only the questions of these ids, one a line")
    made.add_argument(
        "--pdfs", type=Path, metavar="DIR", help="where the documents lie, if not in DIR of --data"
    )
    made.add_argument("--workers", type=int, metavar="N", help="processes side by side (default: one a core)")
    made.add_argument(
        "--open-seconds",
        type=int,
        metavar="N",
        default=int(OPEN_SECONDS),
        help="give a document up that is not read and indexed after so long (default: %(default)s)",
    )
    made.add_argument(
        "--ray", metavar="ADDRESS", help="ask on a Ray cluster (local: on this machine's cores)"
    )
    made.add_argument("--retry-failed", action="store_true", help="ask the questions again that failed")
    made.add_argument("--quiet", action="store_true", help="no progress on stderr")


def job_of(options: argparse.Namespace) -> Job:
    """What the command line asks to run.

    Raises:
        InputError: a number is below 1, `--out` is empty, or the file of ids cannot be read.
    """
    for name in ("limit", "workers", "open_seconds"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise InputError(f"--{name.replace('_', '-')} {value}: expected at least 1")
    if not options.out.strip():
        raise InputError("--out: an empty name; name a folder, such as runs/try")
    return Job(
        benchmark=options.benchmark,
        data=options.data,
        out=Path(options.out),
        config=options.config,
        split=options.split,
        limit=options.limit,
        ids=None if options.ids is None else _ids(options.ids),
        pdfs=options.pdfs,
        workers=options.workers,
        open_seconds=float(options.open_seconds),
        ray=options.ray,
        retry_failed=options.retry_failed,
        quiet=options.quiet,
    )


def _ids(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--ids {path}: cannot be read ({error})") from error
    return [line.strip() for line in lines if line.strip()]
