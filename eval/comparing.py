"""Tables of scored runs: figures with denominators and intervals, slices, rounds, differences of runs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.analyses.rounds import KINDS, MEASURES, found
from eval.benchmarks import BENCHMARKS
from eval.intervals import difference, grouped, interval, ratio
from eval.measures import (
    ACCURACY,
    AGGREGATES,
    ANSWER_F1,
    ANSWER_F1_V2,
    COST,
    FACTS,
    PAGES,
    REGIONS,
    RETRIEVAL,
    Aggregate,
    Measure,
    more,
    over_all,
    rectified,
    sums_of,
)
from eval.metrics.longdocurl import TOTAL
from eval.scoring import Scored, ScoredRun
from eval.tables import Cell, Column, Row, Table

EXTRA: dict[str, tuple[Measure, ...]] = {
    "mmlongbench-v1": (ANSWER_F1,),
    "mmlongbench-v2": (ANSWER_F1_V2,),
    "longdocurl": (rectified(TOTAL),),
    "xldocbench": (more("token_f1", "Token F1"), more("anls", "ANLS")),
}
"""Further measures of the answers, by benchmark."""

LEAVES_OUT = frozenset({"docscope"})
"""Benchmarks whose public scorer leaves a question without an answer out; to the others it is not right."""

SHOWN_FAILURES = 20  # of a judge; all are in summary.json

LEFT_OUT = "rows without an answer leave the denominators"
COUNTED = "rows without an answer count as wrong; from pages, regions and facts they are left out"
MEANING = (
    "official: as the public scorers count; {without}. strict: every "
    "question asked for counts; failed, missing and unparsable rows are wrong; pages, regions and facts of "
    "answerable questions only, regions and facts over all gold ones. [95 % bootstrap interval by documents]"
)


def groups_of(benchmark: str) -> dict[str, tuple[Measure, ...]]:
    """The measures of a benchmark's tables."""
    accuracy = ACCURACY if benchmark in LEAVES_OUT else tuple(map(over_all, ACCURACY))
    return {
        "answers": (*accuracy, *EXTRA.get(benchmark, ())),
        "pages": PAGES,
        "regions and facts": (*REGIONS, *FACTS),
        "retrieval, first round's ranking": RETRIEVAL,
        "cost a question": COST,
    }


@dataclass(frozen=True, slots=True)
class Measured:
    """A run with its figures: rows by table, and evidence by round where it has rounds."""

    run: ScoredRun
    rows: Mapping[str, Sequence[Row]]
    rounds: Table | None


def measure(run: ScoredRun) -> Measured:
    """Computes a run's figures."""
    rows = {name: figures(run, measures) for name, measures in groups_of(run.benchmark).items()}
    has_rounds = any(one.journey.rounds for one in run.scored)
    return Measured(run, rows, _rounds(run) if has_rounds else None)


def tables_of(measured: Sequence[Measured], published: Sequence[dict[str, Any]] = ()) -> list[Table]:
    """The tables of runs on one benchmark: answers, evidence, retrieval, cost, rounds, differences."""
    runs = [one.run for one in measured]
    benchmark = runs[0].benchmark
    groups = groups_of(benchmark)
    made = []
    for name, measures in groups.items():
        rows = [row for one in measured for row in one.rows[name]]
        columns = _used(measures, rows)
        rows += [row for system in published if (row := _published(system, measures)) is not None]
        if columns:
            made.append(Table(f"{benchmark}: {name}", columns, tuple(rows), notes(name, runs)))
    made += [one.rounds for one in measured if one.rounds is not None]
    made += [_differences(runs[0], run, groups.values()) for run in runs[1:]]
    return made


def notes(group: str, runs: Sequence[ScoredRun]) -> tuple[str, ...]:
    """What decided on the figures, and what was left out."""
    deciding = {"answers": ("answers",), "regions and facts": ("regions", "facts")}.get(group, ())
    told = []
    for key in deciding:
        names = dict.fromkeys(run.names[key] for run in runs)
        told.append(f"{key.capitalize()} scored by {'; '.join(names)}.")
    if group == "answers":
        without = LEFT_OUT if runs[0].benchmark in LEAVES_OUT else COUNTED
        told.append(MEANING.format(without=without))
        told += [f"{run.name}: {counts(run)}." for run in runs]
        told += [f"{run.name}: no verdict on {why}" for run in runs for why in run.failures[:SHOWN_FAILURES]]
    return tuple(told)


def _of_data(run: ScoredRun) -> str:
    """Of how many questions, and which release of the benchmark these are."""
    release = BENCHMARKS[run.benchmark].release(run.known)
    return f" of {run.known} in the data" + (f", {release}" if release else "") if run.known else ""


def counts(run: ScoredRun) -> str:
    """How many questions there are, and how many have no answer or no verdict."""
    said = [f"{len(run.scored)} asked{_of_data(run)}"]
    for state in ("failed", "missing", "unparsable"):
        if run.count(state):
            said.append(f"{run.count(state)} {state}")
    abstained = sum(one.outcome.abstained for one in run.scored)
    unscoreable = sum(one.unscoreable for one in run.scored)
    said.append(f"{abstained} abstained")
    if unscoreable:
        said.append(f"{unscoreable} that the public scorer cannot score (0)")
    if run.unscored:
        shown = ", ".join(run.unscored[:5]) + (", ..." if len(run.unscored) > 5 else "")
        said.append(f"{len(run.unscored)} unscored ({shown})")
    for what, many in (("rows of no question", run.strange), ("repeated rows", run.repeated)):
        if many:
            said.append(f"{len(many)} {what}")
    unread = sum(one.unread for one in run.scored)
    if unread:
        said.append(f"{unread} trajectories that cannot be read")
    if run.broken:
        said.append(f"{run.broken} lines that are no rows")
    return ", ".join(said)


def figures(run: ScoredRun, measures: Sequence[Measure]) -> list[Row]:
    """A row for each aggregate that has figures."""
    rows = []
    for aggregate in AGGREGATES:
        known = [m for m in measures if m.known(run.scored)]
        cells = {m.column.key: c for m in known if (c := cell(run.scored, m, aggregate)) is not None}
        if cells:
            rows.append(Row(run.name, aggregate, cells))
    return rows


def cell(scored: Sequence[Scored], measure: Measure, aggregate: Aggregate) -> Cell | None:
    """A figure with its denominator and interval; None where nothing counts in it."""
    parts = measure.parts(aggregate)
    if parts is None:
        return None
    _, sums = sums_of(scored, parts)
    if not len(sums):
        return None
    whole = sums.sum(axis=0)
    value = float(measure.combine(whole))
    low, high = interval(sums, measure.combine) or (None, None)
    n = float(whole[measure.counted]) if measure.divisor is None else measure.divisor
    return Cell(None if value != value else value, n, low, high)


def _used(measures: Sequence[Measure], rows: Sequence[Row]) -> tuple[Column, ...]:
    ours = {key for row in rows for key in row.cells}
    return tuple(m.column for m in measures if m.column.key in ours)


def _published(system: dict[str, Any], measures: Sequence[Measure]) -> Row | None:
    """A published row; its figures are in percent and have no denominators of ours."""
    keys = {measure.column.key for measure in measures}
    cells = {k: Cell(float(v) / 100) for k, v in system["figures"].items() if k in keys}
    return Row(f"{system['system']}, in {system['source']}", "published", cells) if cells else None


def _rounds(run: ScoredRun) -> Table:
    """Cumulative recall, any_hit and all_hit of retrieved and of read pages after each round."""
    journeys = [one.journey for one in run.scored if one.journey.gold]
    longest = max((len(one.journey.rounds) for one in run.scored), default=0)
    columns = [Column("running", "Still running", "count")]
    columns += [Column(f"{kind}_{measure}", f"{kind} {measure}") for kind in KINDS for measure in MEASURES]
    rows = []
    for after in range(1, longest + 1):
        running = sum(len(one.journey.rounds) >= after for one in run.scored)
        cells = {"running": Cell(float(running))}
        for kind in KINDS:
            for measure in MEASURES:
                parts = [(found(journey, after, kind, measure), 1.0) for journey in journeys]
                _, sums = grouped([journey.document for journey in journeys], parts)
                if len(sums):
                    low, high = interval(sums, ratio) or (None, None)
                    value = float(ratio(sums.sum(axis=0)))
                    cells[f"{kind}_{measure}"] = Cell(value, float(len(parts)), low, high)
        rows.append(Row(f"after round {after}", "", cells))
    said = (
        "Of answerable questions with gold pages, those without a row of ours as 0; a question that stopped "
        "keeps what it has."
    )
    return Table(f"{run.benchmark}: evidence by round, {run.name}", tuple(columns), tuple(rows), (said,))


def _differences(first: ScoredRun, second: ScoredRun, groups: Iterable[Sequence[Measure]]) -> Table:
    """The second run less the first, strict, on the questions that count in both."""
    rows = []
    by_id = {one.outcome.id: one for one in second.scored}
    pairs = [(one, by_id[one.outcome.id]) for one in first.scored if one.outcome.id in by_id]
    for measure in (measure for group in groups for measure in group):
        made = _difference(pairs, measure)
        if made is not None:
            unit = measure.column.unit
            rows.append(Row(measure.column.title, "", {f"difference_{unit}": made}))
    units = dict.fromkeys(key for row in rows for key in row.cells)
    columns = tuple(
        Column(key, f"Difference ({key.removeprefix('difference_')})", _unit(key)) for key in units
    )
    said = (
        f"Strict, on the {len(pairs)} questions of both; the same documents are drawn for both runs. "
        "p: two-sided, that there is no difference."
    )
    return Table(f"{first.benchmark}: {second.name} less {first.name}", columns, tuple(rows), (said,))


def _unit(key: str) -> Any:
    return key.removeprefix("difference_")


def _difference(pairs: Sequence[tuple[Scored, Scored]], measure: Measure) -> Cell | None:
    parts = measure.strict
    if parts is None:
        return None
    both = [(one.outcome.document, parts(one), parts(two)) for one, two in pairs]
    both = [item for item in both if item[1] is not None and item[2] is not None]
    if not both:
        return None
    groups = [group for group, _, _ in both]
    _, before = grouped(groups, [a for _, a, _ in both if a is not None])
    _, after = grouped(groups, [b for _, _, b in both if b is not None])
    made = difference(before, after, measure.combine)
    return None if made is None else Cell(made.value, float(len(both)), made.low, made.high, made.p)


def slice_tables(run: ScoredRun) -> list[Table]:
    """Accuracy by every breakdown that the benchmark reports."""
    names = dict.fromkeys(name for one in run.scored for name in one.outcome.slices)
    accuracy = (ACCURACY[-1], *EXTRA.get(run.benchmark, ())[:1])
    tables = []
    for name in names:
        values = sorted({value for one in run.scored for value in one.outcome.slices.get(name, ())})
        rows = []
        for value in values:
            members = [one for one in run.scored if value in one.outcome.slices.get(name, ())]
            cells = {m.column.key: c for m in accuracy if (c := cell(members, m, "strict")) is not None}
            rows.append(Row(value or "none", "strict", cells))
        columns = tuple(m.column for m in accuracy)
        title = f"{run.benchmark}: {run.name} by {name.replace('_', ' ')}"
        tables.append(Table(title, columns, tuple(rows), (f"Answers scored by {run.names['answers']}.",)))
    return tables


def read_published(benchmark: str) -> list[dict[str, Any]]:
    """What others published on a benchmark."""
    import yaml

    text = (Path(__file__).parent / "published.yaml").read_text(encoding="utf-8")
    systems: list[dict[str, Any]] = yaml.safe_load(text).get(benchmark, [])
    return systems
