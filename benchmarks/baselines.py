"""The golden baseline: runs the `cpu` config on all development data, scores it, writes docs/baselines.md.

    python benchmarks/baselines.py DATA --runs runs/baselines

DATA holds `mmlongbench/`, `financebench/` and `docscope_style/` (whose PDFs are FinanceBench's); what is not
there is left out. Runs are resumed, so the same command goes on after a kill, and where the runs are complete
it only writes the page again. The retrieval tables take parts of the retriever away.
"""

import argparse
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
HERE = ROOT / "benchmarks"
sys.path[:] = [  # a script beside this one is named like a package
    str(ROOT),
    *(p for p in sys.path if Path(p or ".").resolve() != HERE),
]

from benchmarks.parts import parts  # noqa: E402
from eval.comparing import measure, read_published, slice_tables, tables_of  # noqa: E402
from eval.identity import read_manifest  # noqa: E402
from eval.job import Job  # noqa: E402
from eval.run import run  # noqa: E402
from eval.sources import run_source, score_source  # noqa: E402
from eval.summary import write_summary  # noqa: E402
from eval.tables import render  # noqa: E402
from indexes.cache import write_atomic  # noqa: E402
from indexes.errors import InputError, run_command  # noqa: E402

PAGE = ROOT / "docs/baselines.md"
MARKS = ("<!-- baselines -->", "<!-- end of baselines -->")
RETRIEVAL = {"mmlongbench": "mmlongbench-v2", "financebench": "financebench"}


def runs(options: Namespace) -> Iterator[Path]:
    """Makes the runs that are not complete; yields their folders."""
    for part in parts(options.data):
        out = options.runs / part.benchmark
        sys.stderr.write(f"{part.benchmark}\n")
        job = Job(
            part.benchmark,
            part.data,
            out,
            options.config,
            limit=options.limit,
            pdfs=part.pdfs,
            workers=options.workers,
            quiet=False,
        )
        run(job)
        yield out


def section(folder: Path) -> str:
    """A run's tables."""
    source = run_source(folder)
    measured = measure(score_source(source))
    write_summary(measured, folder)
    tables = tables_of([measured], read_published(source.benchmark))
    if measured.run.benchmark != "docscope":
        tables += slice_tables(measured.run)
    return f"## {source.benchmark}\n\n{_made_by(read_manifest(folder))}\n\n{render(tables, 'md')}\n"


def _made_by(manifest: dict[str, Any]) -> str:
    """What made a run, in a line."""
    last = manifest["sittings"][-1]
    told = ", ".join(f"{name} {version}" for name, version in last["versions"].items())
    revision = (last["revision"] or "no revision")[:12]
    config = manifest["config"]
    return (
        f"Config `{config['name']}` ({config['digest']}), {last['workers']} workers on "
        f"{last['host']['cpus']} cores, revision {revision}; {told}."
    )


def retrieval(data: Path) -> str:
    """The tables of the retriever with parts taken away."""
    from benchmarks.retrieval import measured, report
    from eval.benchmarks import load

    text = "## What the parts of the retriever give\n\n"
    for collection, benchmark in RETRIEVAL.items():
        if (data / collection).is_dir():
            rows = measured(collection, load(benchmark, data / collection), Namespace(with_text=False))
            text += report(collection, rows)
    return text


def write_page(page: Path, text: str) -> None:
    """Puts the text between the marks of the page.

    Raises:
        InputError: the page has no marks.
    """
    old = page.read_text(encoding="utf-8")
    if not all(mark in old for mark in MARKS):
        raise InputError(f"{page}: no {MARKS[0]} followed by {MARKS[1]}")
    before, _, rest = old.partition(MARKS[0])
    after = rest.partition(MARKS[1])[2]
    write_atomic(page, f"{before}{MARKS[0]}\n\n{text}\n{MARKS[1]}{after}".encode())


def main() -> int:
    """Runs, scores, writes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="the folder that holds the development data")
    parser.add_argument("--runs", type=Path, default=Path("runs/baselines"), help="folder of the runs")
    parser.add_argument("--out", type=Path, default=PAGE, help="the page to write into")
    parser.add_argument("--config", default="cpu")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--limit", type=int, help="only the first N questions of each, to try it")
    parser.add_argument("--no-retrieval", action="store_true", help="without the tables of the retriever")
    options = parser.parse_args()
    sections = [section(folder) for folder in runs(options)]
    if not sections:
        raise InputError(f"{options.data}: holds none of the development data")
    if not options.no_retrieval:
        sections.append(retrieval(options.data))
    write_page(options.out, "\n".join(sections))
    return 0


if __name__ == "__main__":
    run_command(main)
