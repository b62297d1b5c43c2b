"""`python -m eval.ablate`: runs a benchmark at every value of one dial or two, and tables them side by side.

Rounds are cheap: one run has the largest budget, and the answers at the smaller ones are given from the state
that it had after each round (`agent.replay`), reusing index, retrieval, facts and cached calls.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.job import Job, add_job, job_of
from eval.run import run, select
from eval.sweep import Setting, Sweep, folder_name, same_questions, same_sweep, write_sweep
from eval.tables import RENDERERS
from indexes.errors import CommandParser, InputError, run_command

if TYPE_CHECKING:
    from agent.config import Config

EXAMPLES = """\
examples:
  python -m eval.ablate --benchmark docscope --data data/ds --sweep rounds=1,2,4,8 --out runs/rounds
      what each round buys: one run of 8 rounds, answered again after 1, 2 and 4
  python -m eval.ablate --benchmark docscope --data data/ds --sweep k=2,4 --sweep rounds=1,3 --out runs/a
      a grid of two dials
  python -m eval.ablate --benchmark docscope --data data/ds --config vllm \\
      --sweep view.images=true,false --out runs/images
      any key of a config; a key within another after a full stop

Each setting is a run folder of its own within --out, which python -m eval.score reads; a broken-off sweep
goes on when the same command is given again. python -m eval.report OUT draws it.
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """A sweep before it is run: each setting with its config; replays come after the runs they replay."""

    sweep: Sweep
    configs: Mapping[str, "Config"]


def parse_sweep(texts: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """`key=1,2,3` as a key and its values, which are read as YAML.

    Raises:
        InputError: a text is not of that form, a key is there twice, or there are more than two.
    """
    import yaml

    found: dict[str, tuple[Any, ...]] = {}
    for text in texts:
        key, equals, values = text.partition("=")
        given = [value.strip() for value in values.split(",")]
        if not equals or not key.strip() or not all(given):
            raise InputError(f"--sweep {text!r}: expected key=value,value, such as rounds=1,2,4")
        if key.strip() in found:
            raise InputError(f"--sweep {text!r}: {key.strip()} is swept already")
        try:
            found[key.strip()] = tuple(dict.fromkeys(yaml.safe_load(value) for value in given))
        except (yaml.YAMLError, TypeError) as error:
            raise InputError(f"--sweep {text!r}: a value cannot be read ({error})") from error
    if not 1 <= len(found) <= 2:
        raise InputError(f"--sweep: {len(found)} dials; one or two can be swept at a time")
    return found


def with_dials(config: "Config", values: Mapping[str, Any]) -> "Config":
    """The config with other values; a key such as `view.images` is one within another.

    Raises:
        InputError: there is no such key, or a value is out of range.
    """
    from agent.config import load_config

    dump = config.model_dump()
    dials: dict[str, Any] = {}
    for key, value in values.items():
        outer, dot, inner = key.partition(".")
        if not dot:
            dials[key] = value
            continue
        within = dials.get(outer, dump.get(outer))
        if not isinstance(within, Mapping | None):
            raise InputError(f"config: unknown key {key!r}")
        dials[outer] = {**(within or {}), inner: value}
    return load_config(config, **dials)


def make_plan(config: "Config", swept: Mapping[str, Sequence[Any]], fixed: Mapping[str, Any]) -> Plan:
    """The settings of a sweep.

    Where rounds are swept, the largest budget is a run of its own and the others are replays of it; the
    budget of pages is raised so that it does not end the run first, unless it is set or swept itself.

    Args:
        config: of all settings.
        swept: values by key, one key or two.
        fixed: values that all settings have instead of the config's.

    Raises:
        InputError: a key is unknown or a value out of range.
    """
    others = [key for key in swept if key != "rounds"]
    budgets = swept.get("rounds", ())
    if any(not isinstance(budget, int) or isinstance(budget, bool) for budget in budgets):
        raise InputError(f"--sweep rounds: expected whole numbers, got {', '.join(map(str, budgets))}")
    rounds = sorted(budgets)
    base = with_dials(config, fixed)
    runs, replays = [], []
    configs: dict[str, Config] = {}
    notes = set()
    for values in product(*(swept[key] for key in others)):
        own = dict(zip(others, values, strict=True))
        if not rounds:
            runs.append(_setting(own))
            configs[runs[-1].folder] = with_dials(base, own)
            continue
        longest = with_dials(base, {**own, "rounds": rounds[-1]})
        if "max_pages" not in (*swept, *fixed) and longest.max_pages < rounds[-1] * longest.k:
            longest = with_dials(longest, {"max_pages": rounds[-1] * longest.k})
            notes.add(f"max_pages is {longest.max_pages}, so that pages do not end a run before its rounds.")
        runs.append(_setting({**own, "rounds": rounds[-1]}))
        configs[runs[-1].folder] = longest
        for budget in rounds[:-1]:
            replays.append(replace(_setting({**own, "rounds": budget}), long=runs[-1].folder))
            configs[replays[-1].folder] = with_dials(longest, {"rounds": budget})
    if len({setting.folder for setting in [*runs, *replays]}) < len(runs) + len(replays):
        raise InputError("--sweep: two values give the same folder; sweep them apart")
    title = "; ".join(f"{key} = {', '.join(map(_shown, values))}" for key, values in swept.items())
    dials = ", ".join(f"{key}={_shown(value)}" for key, value in fixed.items())
    note = " ".join([*([f"With {dials}."] if dials else []), *sorted(notes)])
    ordered = sorted([*runs, *replays], key=lambda setting: _place(setting, swept))
    return Plan(Sweep("ablation", title, tuple(ordered), note), configs)


def _setting(values: Mapping[str, Any]) -> Setting:
    name = ", ".join(f"{key}={_shown(value)}" for key, value in values.items())
    return Setting(name, folder_name(name), dict(values))


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _place(setting: Setting, swept: Mapping[str, Sequence[Any]]) -> tuple[int, ...]:
    """Where a setting comes in a table: by the values' own order, rounds ascending."""
    keys = [key for key in swept if key != "rounds"]
    places = [list(swept[key]).index(setting.values[key]) for key in keys]
    return (*places, setting.values.get("rounds", 0))


def ablate(job: Job, plan: Plan, *, quiet: bool = True) -> None:
    """Runs the settings that are not finished, long runs first, and writes `sweep.json`.

    Args:
        job: what to ask; its config is not used, its `out` is the sweep's folder.
        plan: as `make_plan` gives it.
        quiet: say nothing on stderr.

    Raises:
        InputError: something that the user can put right; what was finished is kept.
    """
    from eval.benchmarks import load

    settings = plan.sweep.settings
    questions = load(job.benchmark, job.data, split=job.split, pdfs=job.pdfs)
    chosen = select(questions, job.limit, job.ids)
    same_sweep(job.out, settings)
    same_questions(job.out, settings, [q.id for q in chosen])
    write_sweep(job.out, plan.sweep)
    for setting in sorted(settings, key=lambda setting: setting.long is not None):
        own = replace(job, out=job.out / setting.folder, config=plan.configs[setting.folder], quiet=quiet)
        if setting.long is not None:
            own = replace(own, worker=("eval.replaying", str((job.out / setting.long).absolute())), workers=1)
        if not quiet:
            sys.stderr.write(f"{setting.name}\n")
        run(own)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = CommandParser("python -m eval.ablate", "Runs a benchmark at several values of a dial.", EXAMPLES)
    add_job(made, "DIR", "its folder, new or begun")
    made.add_argument("--sweep", required=True, action="append", metavar="KEY=A,B", help="twice for a grid")
    made.add_argument("--set", action="append", default=[], metavar="KEY=A", help="a dial for all settings")
    made.add_argument("--format", choices=sorted(RENDERERS), default="md", help="of the tables")
    return made


def print_tables(out: Path, data: Path, pdfs: Path | None, form: Any) -> None:
    """Writes the tables of a sweep to stdout."""
    from eval.comparing import measure
    from eval.report.load import Gold, load_sweep
    from eval.report.sweeps import setting_tables
    from eval.summary import write_summary
    from eval.tables import render

    _, runs = load_sweep(out, Gold(data, pdfs))
    measured = [measure(loaded.run) for _, loaded in runs]
    for (setting, _), one in zip(runs, measured, strict=True):
        write_summary(one, out / setting.folder)
    sys.stdout.write(render(setting_tables(measured), form))


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    from agent.config import load_config

    options = parser().parse_args(argv)
    fixed = {}
    for text in options.set:
        found = parse_sweep([text])
        key, values = next(iter(found.items()))
        if len(values) != 1:
            raise InputError(f"--set {text!r}: one value; more are for --sweep")
        fixed[key] = values[0]
    plan = make_plan(load_config(options.config), parse_sweep(options.sweep), fixed)
    job = job_of(options)
    ablate(job, plan, quiet=options.quiet)
    print_tables(job.out, options.data, options.pdfs, options.format)
    if not options.quiet:
        sys.stderr.write(f"{options.out}: draw it with python -m eval.report {options.out}\n")
    return 0


if __name__ == "__main__":
    run_command(main)
