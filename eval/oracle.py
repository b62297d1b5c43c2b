"""`python -m eval.oracle`: what the reader answers with the evidence given, and without any document."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from eval.ablate import print_tables, with_dials
from eval.job import Job, add_job, job_of
from eval.run import run, select
from eval.sweep import Setting, Sweep, same_questions, same_sweep, write_sweep
from eval.tables import RENDERERS
from indexes.errors import CommandParser, InputError, run_command

if TYPE_CHECKING:
    from agent.config import Config
    from eval.benchmarks.types import Question

AGENT = "agent"
GOLD = ("gold-pages", "gold-regions", "gold-facts")
EXAMPLES = """\
examples:
  python -m eval.oracle --benchmark docscope --data data/docscope --out runs/oracle
      the agent, then the reader given the gold pages, regions and facts, then no document
  python -m eval.oracle --benchmark docscope --data data/docscope --config vllm --out runs/controls \\
      --settings agent,document-text,document-images,closed-book
      the controls: the whole document as text, as pictures, and none

settings: agent, gold-pages, gold-regions, gold-facts, document-text, document-images, closed-book. All are
asked the same questions: answerable ones that have the gold that the settings need. Each is a run folder
within --out.
"""


def default_settings(questions: "Sequence[Question]") -> list[str]:
    """The settings that a benchmark has the gold for, and closed book."""
    from eval.oracles import ORACLES

    able = [name for name in GOLD if any(q.answerable and ORACLES[name].needs(q) for q in questions)]
    return [AGENT, *able, "closed-book"]


def asked_by_all(questions: "Sequence[Question]", settings: Sequence[str]) -> "list[Question]":
    """The answerable questions that every setting can be asked.

    Raises:
        InputError: there are none, or a setting is unknown.
    """
    from eval.oracles import find_oracle

    if not settings:
        raise InputError("--settings: none; name one or several, as --help lists them")
    needs = [find_oracle(name).needs for name in settings if name != AGENT]
    found = [q for q in questions if q.answerable and q.gold_pages and all(need(q) for need in needs)]
    if not found:
        raise InputError(f"no question has the gold that these settings need: {', '.join(settings)}")
    return found


def config_of(name: str, config: "Config") -> "Config":
    """The config of a setting.

    Raises:
        InputError: the setting shows pictures to a reader that sees none.
    """
    from agent.readers import MODELS

    model = config.reader in MODELS
    seeing = model and (config.view is None or config.view.images)
    if name == "document-images" and not seeing:
        raise InputError(f"document-images: the reader {config.reader!r} of the config sees no pictures")
    return with_dials(config, {"view.images": False}) if name == "document-text" and model else config


def study(job: Job, settings: Sequence[str], *, quiet: bool = True) -> None:
    """Runs the settings that are not finished and writes `sweep.json`.

    Args:
        job: what to ask; `out` is the study's folder.
        settings: by name, in the order of the tables.
        quiet: say nothing on stderr.

    Raises:
        InputError: something that the user can put right; what was finished is kept.
    """
    from agent.config import load_config
    from eval.benchmarks import load
    from eval.oracles import ORACLES

    questions = load(job.benchmark, job.data, split=job.split, pdfs=job.pdfs)
    chosen = asked_by_all(select(questions, None, job.ids), settings)[: job.limit]
    config = load_config(job.config)
    configs = {name: config_of(name, config) for name in settings}
    made = [Setting(_title(name), name, {"setting": name}) for name in settings]
    note = f"All settings are asked the same {len(chosen)} answerable questions; closed book is not verified."
    same_sweep(job.out, made)
    same_questions(job.out, made, [q.id for q in chosen])
    write_sweep(job.out, Sweep("oracle", "Oracle study", tuple(made), note))
    for name in settings:
        own = replace(job, out=job.out / name, config=configs[name], ids=[q.id for q in chosen], limit=None)
        if name != AGENT:
            own = replace(own, worker=_worker(name, job))
        if not quiet:
            sys.stderr.write(f"{ORACLES[name].title if name in ORACLES else name}\n")
        run(replace(own, quiet=quiet))


def _title(name: str) -> str:
    from eval.oracles import ORACLES

    return ORACLES[name].title if name in ORACLES else name


def _worker(name: str, job: Job) -> tuple[str, ...]:
    worker = ["eval.oracle_worker", name, job.benchmark, str(job.data.absolute())]
    if job.split is not None:
        worker += ["--split", job.split]
    if job.pdfs is not None:
        worker += ["--pdfs", str(job.pdfs.absolute())]
    return tuple(worker)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = CommandParser("python -m eval.oracle", "Asks a reader with the evidence given.", EXAMPLES)
    add_job(made, "DIR", "its folder, new or begun")
    made.add_argument("--settings", metavar="A,B", help="which, in their order (default: those with gold)")
    made.add_argument("--format", choices=sorted(RENDERERS), default="md", help="of the tables")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    from eval.benchmarks import load

    options = parser().parse_args(argv)
    job = job_of(options)
    if options.settings:
        settings = list(dict.fromkeys(name.strip() for name in options.settings.split(",") if name.strip()))
    else:
        settings = default_settings(load(job.benchmark, job.data, split=job.split, pdfs=job.pdfs))
    study(job, settings, quiet=options.quiet)
    print_tables(job.out, options.data, options.pdfs, options.format)
    return 0


if __name__ == "__main__":
    run_command(main)
