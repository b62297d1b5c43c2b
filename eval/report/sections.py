"""The analyses of a scored run as sections: a sentence, tables and plots, for HTML and for Markdown alike."""

from collections.abc import Sequence
from dataclasses import dataclass

from eval.analyses.abstention import (
    Threshold,
    answered_scores,
    best_area,
    curve,
    risk_coverage_area,
    unplaced,
)
from eval.analyses.chain import COMBINATIONS, chains
from eval.analyses.layout import FACTORS, by_layout
from eval.analyses.stages import STAGES, stage, stages
from eval.analyses.types import Outcome
from eval.comparing import slice_tables
from eval.intervals import grouped, interval, ratio
from eval.report.figures import Figure, bar_plot, step_plot
from eval.scoring import ScoredRun
from eval.tables import Cell, Column, Row, Table


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report."""

    title: str
    text: str
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()

    @property
    def narrow(self) -> bool:
        """Whether the tables are so many and so narrow that two go side by side."""
        return len(self.tables) > 2 and all(len(table.columns) <= 2 for table in self.tables)


def mean(pairs: Sequence[tuple[str, float]]) -> Cell:
    """The mean of (document, value) with its interval over documents."""
    if not pairs:
        return Cell(n=0)
    _, sums = grouped([document for document, _ in pairs], [(value, 1.0) for _, value in pairs])
    found = interval(sums, ratio)
    low, high = found or (None, None)
    return Cell(sum(value for _, value in pairs) / len(pairs), len(pairs), low, high)


def accuracy(outcomes: Sequence[Outcome]) -> Cell:
    """The mean score of those that are scored."""
    return mean([(o.document, o.score) for o in outcomes if o.score is not None])


def analyses(run: ScoredRun) -> list[Section]:
    """All analyses of a run that have something to say."""
    outcomes = [one.outcome for one in run.scored]
    makers = (stage_section, chain_section, layout_section, abstention_section)
    made = [make(outcomes) for make in makers]
    return [section for section in (*made, slice_section(run)) if section is not None]


def stage_section(outcomes: Sequence[Outcome]) -> Section | None:
    """Where wrong answers first went wrong."""
    found, lenient = stages(outcomes), stages(outcomes, lenient=True)
    if not found.wrong:
        return None
    used = [name for name in STAGES if found.counts[name] or lenient.counts[name]]
    placed = [(o.document, at) for o in outcomes if (at := stage(o)) is not None]
    shares = [mean([(document, float(at == name)) for document, at in placed]) for name in used]
    rows = tuple(
        Row(
            name,
            "",
            {
                "what": Cell(text=STAGES[name]),
                "count": Cell(found.counts[name]),
                "share": share,
                "lenient": Cell(lenient.counts[name]),
            },
        )
        for name, share in zip(used, shares, strict=True)
    )
    columns = (
        Column("what", "What went wrong first", "text"),
        Column("count", "Questions", "count"),
        Column("share", "Share"),
        Column("lenient", "Questions, imprecise regions allowed", "count"),
    )
    notes = (f"{found.unscored} unscored answers are in no stage.",) if found.unscored else ()
    alt = "Wrong answers by the stage of their first failure"
    figure = bar_plot("stages", alt, used, [percent(share) for share in shares], ylabel="wrong answers, %")
    text = "Each wrong answer counts at the first stage that failed."
    return Section("Stage of first failure", text, (Table(alt, columns, rows, notes),), (figure,))


def chain_section(outcomes: Sequence[Outcome]) -> Section | None:
    """Whether correct answers are borne out."""
    strict, lenient = chains(outcomes), chains(outcomes, lenient=True)
    if not strict.judged:
        return None

    def cell(found: float | None) -> Cell:
        return Cell(found, strict.judged)

    rows = tuple(
        Row(
            " ".join(
                letter if holds else f"no {letter}" for letter, holds in zip("PBF", combination, strict=True)
            ),
            "",
            {
                "count": Cell(strict.counts[combination]),
                "strict": cell(strict.share(combination)),
                "lenient": cell(lenient.share(combination)),
            },
        )
        for combination in COMBINATIONS
    )
    columns = (
        Column("count", "Answers", "count"),
        Column("strict", "Share, strict"),
        Column("lenient", "Share, imprecise regions allowed"),
    )
    notes = (
        f"{strict.correct} correct answers to answerable questions, {strict.unjudged} of them not judged.",
    )
    text = "P: every gold page is cited. B: every gold region is covered. F: every gold fact is said."
    table = Table("Evidence chains among correct answers", columns, rows, notes)
    return Section("Evidence chains", text, (table,))


def layout_section(outcomes: Sequence[Outcome]) -> Section | None:
    """Accuracy against how the evidence lies."""
    found = by_layout(outcomes)
    if not any(b.outcomes for b in found["pages"]):
        return None
    tables, figures = [], []
    for name, bins in found.items():
        used = [b for b in bins if b.outcomes]
        if not used:
            continue
        cells = [accuracy(b.outcomes) for b in used]
        rows = tuple(Row(b.bin.label, "", {"accuracy": c}) for b, c in zip(used, cells, strict=True))
        tables.append(Table(f"Accuracy by {FACTORS[name]}", (Column("accuracy", "Accuracy"),), rows))
        scaled = [percent(c) for c in cells]
        alt = f"Accuracy by {FACTORS[name]}"
        figures.append(
            bar_plot(
                f"layout-{name}",
                alt,
                [b.bin.label for b in used],
                scaled,
                ylabel="accuracy, %",
                xlabel=FACTORS[name],
            )
        )
    text = "Answerable questions whose gold pages lie in one document; accuracy is the mean answer score."
    return Section("Evidence layout", text, tuple(tables), tuple(figures))


def abstention_section(outcomes: Sequence[Outcome]) -> Section | None:
    """What abstaining more would bring."""
    points = curve(outcomes)
    if not points:
        return None
    left = unplaced(outcomes)
    notes = (f"{left} answers without a confidence are left out.",) if left else ()
    top, last = max(points, key=lambda point: point.accuracy), points[-1]
    columns = (
        Column("threshold", "Threshold", "number"),
        Column("coverage", "Coverage"),
        Column("selective", "Accuracy of those answered"),
        Column("accuracy", "Accuracy of all"),
    )
    rows = Row("as it is", "", _point(last)), Row("best threshold", "", _point(top))
    table = Table("Answers below a confidence withheld", columns, rows, notes)
    xs = [point.coverage for point in points]
    figure = step_plot(
        "abstention",
        "Accuracy of the answers given, and of all questions, against coverage",
        [
            ("answers given", xs, [point.selective_accuracy for point in points]),
            ("all questions", xs, [point.accuracy for point in points]),
        ],
        labels=("coverage", "accuracy"),
    )
    text = "The answers ranked by the reader's confidence: those of a low one can be withheld."
    return Section("Abstention", text, (table, _areas(outcomes, points)), (figure,))


def _areas(outcomes: Sequence[Outcome], points: Sequence[Threshold]) -> Table:
    area, best = risk_coverage_area(points), best_area(points, answered_scores(outcomes))
    n = points[-1].answered
    columns = Column("area", "Area", "number"), Column("best", "Best possible", "number")
    row = Row("answers by confidence", "", {"area": Cell(area, n), "best": Cell(best, n)})
    said = "0 is best. The best threshold above is chosen on these very questions, so that it flatters."
    return Table("Area under the risk-coverage curve", columns, (row,), (said,))


def _point(point: Threshold) -> dict[str, Cell]:
    return {
        "threshold": Cell(point.threshold),
        "coverage": Cell(point.coverage),
        "selective": Cell(point.selective_accuracy),
        "accuracy": Cell(point.accuracy),
    }


def slice_section(run: ScoredRun) -> Section | None:
    """Accuracy by the breakdowns of the benchmark."""
    tables = slice_tables(run)
    if not tables:
        return None
    return Section("Slices", "A question with several values of a slice counts in each.", tuple(tables))


def percent(cell: Cell) -> Cell:
    """The share as a percentage, for a plot."""

    def times(value: float | None) -> float | None:
        return None if value is None else 100 * value

    return Cell(times(cell.value), cell.n, times(cell.low), times(cell.high))
