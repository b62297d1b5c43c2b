"""What rounds buy and what oracles would: sweeps of the `cpu` config on development data, and their pages.

    python benchmarks/analyses.py DATA --runs runs/analyses

DATA holds `mmlongbench/`, `financebench/` and `docscope_style/` (whose PDFs are FinanceBench's); what is not
there is left out. For each a sweep of rounds and an oracle study are run, resumed after a kill; each leaves
`report.html` in its folder, and its tables and plots in docs/measured/.
"""

import argparse
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HERE = ROOT / "benchmarks"
sys.path[:] = [  # a script beside this one is named like a package
    str(ROOT),
    *(p for p in sys.path if Path(p or ".").resolve() != HERE),
]

from agent.config import load_config  # noqa: E402
from benchmarks.parts import parts  # noqa: E402
from eval.ablate import ablate, make_plan  # noqa: E402
from eval.benchmarks import load  # noqa: E402
from eval.job import Job  # noqa: E402
from eval.oracle import default_settings, study  # noqa: E402
from eval.report.__main__ import report, write_markdown  # noqa: E402
from indexes.errors import InputError, run_command  # noqa: E402

ROUNDS = (1, 2, 3, 4, 6, 8)
PAGES = ROOT / "docs/measured"
ONLY = ("mmlongbench-v2", "financebench", "docscope")


def sweeps(options: Namespace) -> Iterator[tuple[str, Path]]:
    """Runs what is not complete; yields the name and the folder of each sweep."""
    config = load_config(options.config)
    for part in parts(options.data, options.only):
        data, pdfs = part.data, part.pdfs
        out = options.runs / f"rounds-{part.benchmark}"
        job = Job(part.benchmark, data, out, config, limit=options.limit, pdfs=pdfs, workers=options.workers)
        sys.stderr.write(f"{part.benchmark}: rounds\n")
        ablate(job, make_plan(config, {"rounds": ROUNDS}, {}), quiet=False)
        yield f"rounds-{part.benchmark}", out
        out = options.runs / f"oracle-{part.benchmark}"
        job = Job(part.benchmark, data, out, config, limit=options.limit, pdfs=pdfs, workers=options.workers)
        sys.stderr.write(f"{part.benchmark}: oracles\n")
        study(job, default_settings(load(part.benchmark, data, pdfs=pdfs)), quiet=False)
        yield f"oracle-{part.benchmark}", out


def main() -> int:
    """Runs the sweeps and writes their pages."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="holds mmlongbench/, financebench/, docscope_style/")
    parser.add_argument("--runs", type=Path, default=Path("runs/analyses"), help="where the sweeps are kept")
    parser.add_argument("--pages", type=Path, default=PAGES, help="where the Markdown goes (docs/measured)")
    parser.add_argument("--config", default="cpu")
    parser.add_argument("--only", nargs="+", default=ONLY, metavar="NAME", help="only these benchmarks")
    parser.add_argument("--limit", type=int, help="the first N questions only")
    parser.add_argument("--workers", type=int)
    options = parser.parse_args()
    if not options.data.is_dir():
        raise InputError(f"{options.data}: no such folder")
    for name, folder in sweeps(options):
        sections = report(folder, folder / "report.html", quiet=False)
        write_markdown(options.pages / f"{name}.md", name, sections)
        sys.stderr.write(f"written: {options.pages / name}.md, {folder / 'report.html'}\n")
    return 0


if __name__ == "__main__":
    run_command(main)
