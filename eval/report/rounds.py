"""What each round buys, as a section: evidence by prefix, answers by budget, cost, the last useful round."""

from collections.abc import Callable, Mapping, Sequence

from eval.analyses.rounds import (
    KINDS,
    MEASURES,
    Journey,
    Kind,
    Measure,
    RoundTaken,
    found,
    last_gainful,
    last_useful,
    still_running,
    with_gold,
)
from eval.comparing import measure
from eval.report.figures import Figure, Line, bar_plot, line_plot
from eval.report.sections import Section, accuracy, mean, percent
from eval.scoring import ScoredRun
from eval.tables import Cell, Column, Row, Table, Unit


def round_section(run: ScoredRun, budgets: Mapping[int, ScoredRun] | None = None) -> Section | None:
    """What the rounds of a run bring.

    Args:
        run: the long run.
        budgets: the run's answers at budgets of so many rounds, where they were made.
    """
    journeys = [one.journey for one in run.scored]
    longest = max((len(journey.rounds) for journey in journeys), default=0)
    if not longest:
        return None
    by_round = measure(run).rounds
    tables = [] if by_round is None else [by_round]
    figures: list[Figure] = []
    if longest > 1 and with_gold(journeys):
        tables.append(_running_table(journeys, longest))
        figures += [_evidence_plot(journeys, longest, kind) for kind in KINDS]
    if budgets:
        tables.append(_answer_table(budgets))
        figures.append(_answer_plot(budgets))
    tables += [_cost_table(journeys, longest), _useful_table(run, journeys)]
    figures += _cost_plots(journeys, longest)
    text = (
        "Evidence is read off one run by prefix: a question that stopped early carries its last value. "
        "Answers at a budget are given from the state after that round."
    )
    return Section("Rounds", text, tuple(tables), tuple(figures))


def _cells(journeys: Sequence[Journey], after: int, kind: Kind, measure: Measure) -> Cell:
    return mean([(j.document, found(j, after, kind, measure)) for j in journeys])


def _evidence_plot(journeys: Sequence[Journey], longest: int, kind: Kind) -> Figure:
    gold, rounds = with_gold(journeys), list(range(1, longest + 1))
    lines = [Line(measure, [percent(_cells(gold, r, kind, measure)) for r in rounds]) for measure in MEASURES]
    running = [percent(_cells(still_running(gold, r), r, kind, "recall")) for r in rounds]
    lines.append(Line("recall of those still running", running))
    alt = f"Gold pages among the pages {kind} after each round"
    return line_plot(f"rounds-{kind}", alt, rounds, lines, labels=("rounds", "%"))


def _running_table(journeys: Sequence[Journey], longest: int) -> Table:
    gold = with_gold(journeys)
    rows = tuple(
        Row(
            f"after round {r}",
            "",
            {kind: _cells(still_running(gold, r), r, kind, "recall") for kind in KINDS},
        )
        for r in range(1, longest + 1)
    )
    columns = tuple(Column(kind, f"{kind} recall") for kind in KINDS)
    return Table("Evidence by round, those still running only", columns, rows)


def _answer_table(budgets: Mapping[int, ScoredRun]) -> Table:
    rows = []
    for rounds, run in sorted(budgets.items()):
        outcomes = [one.outcome for one in run.scored]
        rows.append(
            Row(
                f"{rounds} {'round' if rounds == 1 else 'rounds'}",
                "",
                {
                    "all": accuracy(outcomes),
                    "answerable": accuracy([o for o in outcomes if o.answerable]),
                    "unanswerable": accuracy([o for o in outcomes if not o.answerable]),
                    "abstained": mean([(o.document, float(o.abstained)) for o in outcomes]),
                },
            )
        )
    columns = (
        Column("all", "Accuracy"),
        Column("answerable", "Answerable"),
        Column("unanswerable", "Unanswerable"),
        Column("abstained", "Abstained"),
    )
    best = last_gainful([row.cells["all"].value or 0.0 for row in rows])
    said = f"Beyond {rows[best - 1].name} no longer budget has a higher accuracy."
    return Table("Answers at each budget of rounds", columns, tuple(rows), (said,))


def _answer_plot(budgets: Mapping[int, ScoredRun]) -> Figure:
    rounds = sorted(budgets)
    outcomes = {r: [one.outcome for one in budgets[r].scored] for r in rounds}
    lines = [Line("all questions", [percent(accuracy(outcomes[r])) for r in rounds])]
    for name, wanted in (("answerable", True), ("unanswerable", False)):
        cells = [percent(accuracy([o for o in outcomes[r] if o.answerable == wanted])) for r in rounds]
        if any(cell.n for cell in cells):
            lines.append(Line(name, cells))
    alt = "Answer accuracy at each budget of rounds"
    return line_plot("rounds-answers", alt, rounds, lines, labels=("budget of rounds", "accuracy, %"))


COSTS: tuple[tuple[str, str, Unit, Callable[[RoundTaken], float]], ...] = (
    ("seconds", "Seconds", "seconds", lambda taken: taken.seconds),
    ("tokens", "Tokens", "number", lambda taken: taken.tokens),
    ("pages", "Pages read", "number", lambda taken: len(taken.read)),
)
"""What a round costs: key, title, unit, value."""


def _cost(journeys: Sequence[Journey], number: int, value: Callable[[RoundTaken], float]) -> Cell:
    """The mean cost of a round over the questions that took it."""
    taken = still_running(journeys, number)
    return mean([(journey.document, float(value(journey.rounds[number - 1]))) for journey in taken])


def _cost_table(journeys: Sequence[Journey], longest: int) -> Table:
    rows = []
    for number in range(1, longest + 1):
        cells = {key: _cost(journeys, number, value) for key, _, _, value in COSTS}
        cells["questions"] = Cell(len(still_running(journeys, number)))
        rows.append(Row(f"round {number}", "", cells))
    columns = [Column("questions", "Questions", "count")]
    columns += [Column(key, title, unit) for key, title, unit, _ in COSTS]
    said = "Means over the questions that took the round; plan, answer and verification are not in it."
    return Table("Cost of a round", tuple(columns), tuple(rows), (said,))


def _cost_plots(journeys: Sequence[Journey], longest: int) -> list[Figure]:
    rounds = list(range(1, longest + 1))
    made = []
    for key, title, _, value in COSTS:
        cells = [_cost(journeys, number, value) for number in rounds]
        if any(cell.value for cell in cells):
            alt = f"{title} of each round: mean over the questions that took it"
            lines = [Line(title, cells)]
            made.append(line_plot(f"rounds-cost-{key}", alt, rounds, lines, labels=("round", title.lower())))
    if longest > 1:
        taken = [Cell(len(still_running(journeys, number))) for number in rounds]
        names = [str(number) for number in rounds]
        alt = "Questions that took each round"
        made.append(bar_plot("rounds-running", alt, names, taken, ylabel="questions", xlabel="round"))
    return made


def _useful_table(run: ScoredRun, journeys: Sequence[Journey]) -> Table:
    outcomes = [one.outcome for one in run.scored]
    answered = [o.id for o in outcomes if not o.abstained and not o.failed]
    useful = last_useful(journeys, answered)
    n_gold, n_answered = sum(useful.evidence.values()), sum(useful.answer.values())
    rows = tuple(
        Row(
            f"round {number}" if number else "none",
            "",
            {
                "evidence": Cell(useful.evidence[number] / n_gold if n_gold else None, n_gold),
                "answer": Cell(useful.answer[number] / n_answered if n_answered else None, n_answered),
            },
        )
        for number in useful.evidence
    )
    columns = (
        Column("evidence", "Last to read a new gold page"),
        Column("answer", "Last to record a fact of the answer"),
    )
    return Table("The last useful round", columns, rows)
