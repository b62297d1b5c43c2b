"""A run's rows beside the gold: every question scored once, whatever is tabulated from it afterwards.

A question without a row is `missing` and stays in every strict denominator; what a judge could not decide is
unscored (None), which is neither wrong nor right.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from eval.analyses.rounds import Journey
from eval.analyses.types import Outcome
from eval.benchmarks.types import Question
from eval.exports import Prediction, from_row, missing
from eval.exports.prediction import MISSING
from eval.metrics.regions import Label, LabelledPage
from eval.trajectories import Spent, Told, told
from indexes.files import document_id
from indexes.types import PageRef

State = Literal["ok", "failed", "unparsable", "missing"]
"""`failed`: an error row; `unparsable`: a row without text; `missing`: no row at all."""


@dataclass(frozen=True, slots=True)
class AnswerScore:
    """How right an answer is.

    Attributes:
        score: 0 to 1; None where it could not be judged.
        abstained: whether the answer counts as saying that the documents don't tell.
        unscoreable: the public scorer raises on it; the score is 0.
        more: further measures by name, 0 to 1.
    """

    score: float | None
    abstained: bool
    unscoreable: bool = False
    more: Mapping[str, float] = field(default_factory=dict)


class Judging(Protocol):
    """What decides on answers, regions and facts: rules, or a model."""

    names: Mapping[str, str]
    """What decides on `answers`, `regions` and `facts`, in words for a table."""

    def answer(self, question: Question, prediction: Prediction) -> AnswerScore:
        """Scores an answer that is there."""
        ...

    def regions(self, question: Question, prediction: Prediction) -> Mapping[str, Label | None]:
        """Labels of the gold regions on pages that are cited, by region id; None: could not be judged."""
        ...

    def facts(self, question: Question, prediction: Prediction) -> Mapping[str, bool | None]:
        """Whether the gold facts on pages that are cited are said, by fact id; None: could not be judged."""
        ...


@dataclass(frozen=True, slots=True)
class Scored:
    """A question, what came of it, and how good that is.

    Attributes:
        outcome: for analyses; its score is 0 where there is no answer.
        journey: its rounds; of a row without a trajectory of ours there are none.
        state: whether there is an answer.
        cites: whether the prediction's format has pages at all.
        pages: gold regions by page that was cited, with the number of boxes on it.
        missed_regions: gold regions on pages that were not cited.
        verdicts: on the gold facts on pages that were cited.
        missed_facts: gold facts on pages that were not cited.
        ranking: of the first round; None without a trajectory.
        answer: as it was scored.
        unread: whether the row has a trajectory that cannot be read.
    """

    outcome: Outcome
    journey: Journey
    state: State
    cites: bool = True
    pages: tuple[LabelledPage, ...] = ()
    missed_regions: int = 0
    verdicts: tuple[bool | None, ...] = ()
    missed_facts: int = 0
    ranking: tuple[PageRef, ...] | None = None
    spent: Spent | None = None
    unscoreable: bool = False
    more: Mapping[str, float] = field(default_factory=dict)
    answer: str = ""
    unread: bool = False


@dataclass(frozen=True, slots=True)
class ScoredRun:
    """A run's questions in the benchmark's order.

    Attributes:
        name: what the tables call it.
        benchmark: its name.
        scored: one for every question asked for.
        names: what decided on answers, regions and facts.
        known: how many questions the benchmark's data (or its split) hold.
        strange: ids of rows that belong to no question.
        repeated: ids with several rows; the first one counts.
        broken: lines that are no rows.
        failures: what a judge could not decide, one line each.
        judge: what its verdicts are pinned to; None without one.
    """

    name: str
    benchmark: str
    scored: tuple[Scored, ...]
    names: Mapping[str, str]
    known: int = 0
    strange: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    broken: int = 0
    failures: tuple[str, ...] = ()
    judge: Mapping[str, Any] | None = None

    def count(self, *states: State) -> int:
        """How many questions are in one of these states."""
        return sum(one.state in states for one in self.scored)

    @property
    def unscored(self) -> list[str]:
        """Ids of questions of which something could not be judged."""
        return [
            one.outcome.id
            for one in self.scored
            if one.outcome.score is None
            or None in one.verdicts
            or any(None in page.labels for page in one.pages)
        ]


def score(question: Question, prediction: Prediction, judging: Judging, run: Told | None = None) -> Scored:
    """Scores what a run says to a question.

    Args:
        question: with its gold.
        prediction: what was answered.
        judging: decides on answer, regions and facts.
        run: what the trajectory tells, where there is one.
    """
    there = prediction.failure is None
    result = judging.answer(question, prediction) if there else AnswerScore(0.0, False)
    labels = judging.regions(question, prediction) if there and question.gold_regions else {}
    verdicts = judging.facts(question, prediction) if there and question.gold_facts else {}
    document = " ".join(map(document_id, question.documents))
    outcome = Outcome(
        id=question.id,
        document=document,
        answerable=question.answerable,
        score=result.score,
        failed=not there,
        abstained=result.abstained,
        confidence=None if run is None else run.confidence,
        gold_pages=question.gold_pages,
        predicted_pages=frozenset(prediction.pages or ()),
        regions=_all_or_none(question, labels),
        gold_regions={region.id: region.ref for region in question.gold_regions},
        facts=_said(question, verdicts),
        pages=_page_count(question, run),
        slices=question.slices,
    )
    gold = frozenset(question.gold_pages) if question.answerable else frozenset()
    rounds, useful = (run.rounds, run.useful) if run is not None else ((), 0)
    return Scored(
        outcome=outcome,
        journey=Journey(question.id, document, gold, rounds, useful),
        state=_state(prediction),
        cites=not there or prediction.pages is not None,
        pages=tuple(_labelled(question, prediction, labels)),
        missed_regions=len(question.gold_regions) - len(labels),
        verdicts=tuple(verdicts.values()),
        missed_facts=len(question.gold_facts) - len(verdicts),
        ranking=None if run is None else run.ranking,
        spent=None if run is None else run.spent,
        unscoreable=result.unscoreable,
        more=result.more,
        answer=prediction.answer if there else "",
        unread=run is None and isinstance(prediction.row.get("trajectory"), dict),
    )


def score_rows(
    questions: Sequence[Question], rows: Iterable[Mapping[str, Any]], judging: Judging
) -> tuple[list[Scored], list[str], list[str]]:
    """Scores every question by its first row; rows are read one by one and not kept.

    Returns:
        The questions scored in their order; ids of rows without a question; ids of further rows.
    """
    known = {question.id: question for question in questions}
    found: dict[str, Scored] = {}
    strange: list[str] = []
    repeated: list[str] = []
    for row in rows:
        name = str(row.get("question_id"))
        question = known.get(name)
        if question is None:
            strange.append(name)
        elif name in found:
            repeated.append(name)
        else:
            found[name] = score(question, from_row(question, row), judging, told(row, question.documents))
    return [found.get(q.id) or score(q, missing(q), judging) for q in questions], strange, repeated


def _state(prediction: Prediction) -> State:
    if prediction.failure is None:
        return "ok"
    if prediction.failure == MISSING:
        return "missing"
    return "unparsable" if prediction.row.get("status", "ok") == "ok" else "failed"


def _labelled(
    question: Question, prediction: Prediction, labels: Mapping[str, Label | None]
) -> Iterable[LabelledPage]:
    """The gold pages that were cited: their regions' labels, the number of boxes on them."""
    boxes = Counter(ref for ref, _ in prediction.boxes or ())
    by_page: dict[PageRef, list[Label | None]] = {}
    for region in question.gold_regions:
        if region.id in labels:
            by_page.setdefault(region.ref, []).append(labels[region.id])
    for ref, found in by_page.items():
        yield LabelledPage(tuple(found), boxes[ref])


def _all_or_none(question: Question, labels: Mapping[str, Label | None]) -> dict[str, Label] | None:
    """The label of every gold region, those on pages not cited not covered; None where one is unscored."""
    found: dict[str, Label] = {}
    for region in question.gold_regions:
        label = labels.get(region.id, "not_covered")
        if label is None:
            return None
        found[region.id] = label
    return found or None


def _said(question: Question, verdicts: Mapping[str, bool | None]) -> dict[str, bool] | None:
    """Whether every gold fact is said, those on pages not cited not; None where one is unscored."""
    found: dict[str, bool] = {}
    for fact in question.gold_facts:
        verdict = verdicts.get(fact.id, False)
        if verdict is None:
            return None
        found[fact.id] = verdict
    return found or None


def _page_count(question: Question, run: Told | None) -> int | None:
    """The pages of the only document, where the run says so."""
    if len(question.documents) != 1 or run is None:
        return None
    return next(iter(run.page_counts.values()), None)
