"""The sections of a sweep: the settings side by side, and for rounds what each one buys."""

from collections.abc import Sequence
from dataclasses import replace

from eval.comparing import Measured, measure, tables_of
from eval.report.figures import Figure, Line, bar_plot, line_plot
from eval.report.load import LoadedRun
from eval.report.rounds import round_section
from eval.report.sections import Section, accuracy, percent
from eval.sweep import Setting, Sweep
from eval.tables import Column, Row, Table

COMPARED = (
    "Accuracy, answerable",
    "Accuracy, unanswerable",
    "Accuracy",
    "F1",
    "Page F1",
    "Region strict F1",
    "Fact consistency",
    "Seconds",
)
"""The measures whose differences a sweep shows, by their titles."""

Runs = Sequence[tuple[Setting, LoadedRun]]


def sweep_sections(sweep: Sweep, runs: Runs) -> list[Section]:
    """The settings' figures side by side, a plot of accuracy, and the rounds of each long run."""
    figures = tuple(_accuracy(sweep, runs))
    tables = tuple(setting_tables([measure(loaded.run) for _, loaded in runs]))
    made = [Section("Settings", f"{sweep.title}. {sweep.note}".strip(), tables, figures)]
    made += [section for folder in _long(runs) if (section := _rounds(folder, runs)) is not None]
    return made


def setting_tables(measured: Sequence[Measured]) -> list[Table]:
    """The figures of the settings side by side, and how far each is from the first."""
    tables = tables_of([replace(one, rounds=None) for one in measured])
    count = len(measured) - 1
    return tables[: len(tables) - count] + _compact(measured, tables[len(tables) - count :])


def _compact(measured: Sequence[Measured], differences: Sequence[Table]) -> list[Table]:
    """One table of the differences to the first setting, a row a setting, in the main measures."""
    if not differences:
        return []
    rows, units = [], {}
    for one, table in zip(measured[1:], differences, strict=True):
        cells = {}
        for row in table.rows:
            for column in table.columns:
                if row.name in COMPARED and column.key in row.cells:
                    cells[row.name] = row.cells[column.key]
                    units[row.name] = column.unit
        rows.append(Row(one.run.name, "", cells))
    columns = tuple(Column(name, name, units[name]) for name in COMPARED if name in units)
    first = measured[0].run
    title = f"{first.benchmark}: differences to {first.name}"
    return [Table(title, columns, tuple(rows), differences[0].notes)]


def longest(runs: Runs) -> LoadedRun:
    """The run whose questions are shown: the first long one, else the first."""
    folders = _long(runs)
    return next((loaded for setting, loaded in runs if setting.folder in folders), runs[0][1])


def _long(runs: Runs) -> list[str]:
    """The folders that replays were answered from."""
    return list(dict.fromkeys(setting.long for setting, _ in runs if setting.long))


def _rounds(folder: str, runs: Runs) -> Section | None:
    own = [(s, loaded) for s, loaded in runs if folder in (s.folder, s.long)]
    base = next(loaded for s, loaded in own if s.folder == folder)
    section = round_section(base.run, {int(s.values["rounds"]): loaded.run for s, loaded in own})
    others = {key: value for key, value in own[0][0].values.items() if key != "rounds"}
    if section is None or not others:
        return section
    name = ", ".join(f"{key}={value}" for key, value in others.items())
    return Section(f"Rounds, {name}", section.text, section.tables, section.figures)


def _accuracy(sweep: Sweep, runs: Runs) -> list[Figure]:
    """Accuracy by setting: a line over the last dial's values for each of the other's, or bars."""
    cells = [percent(accuracy([one.outcome for one in loaded.run.scored])) for _, loaded in runs]
    keys = list(runs[0][0].values)
    alt = "Answer accuracy of each setting, all questions"
    if sweep.kind == "oracle" or not keys:
        names = [setting.name for setting, _ in runs]
        return [bar_plot("settings", alt, names, cells, ylabel="accuracy, %")]
    axis, others = keys[-1], keys[:-1]
    xs = list(dict.fromkeys(setting.values[axis] for setting, _ in runs))
    by_line: dict[str, dict[object, int]] = {}
    for place, (setting, _) in enumerate(runs):
        name = ", ".join(f"{key}={setting.values[key]}" for key in others) or "accuracy"
        by_line.setdefault(name, {})[setting.values[axis]] = place
    if not all(isinstance(x, int | float) and not isinstance(x, bool) for x in xs) and not others:
        return [bar_plot("settings", alt, [str(x) for x in xs], cells, ylabel="accuracy, %", xlabel=axis)]
    lines = [
        Line(name, [cells[found[x]] if x in found else None for x in xs]) for name, found in by_line.items()
    ]
    return [line_plot("settings", alt, xs, lines, labels=(axis, "accuracy, %"))]
