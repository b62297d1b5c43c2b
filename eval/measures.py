"""The measures of the tables: what a question adds to each, under the official and the strict aggregate.

Official: as the public scorers count, for comparison. Strict: every question asked for counts; failed,
missing and unparsable rows are wrong. The two differ in DocScope's measures (pages, regions, facts, and its
answers): its scorers leave rows without an answer out, and count regions and facts on gold pages that were
cited.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from eval.intervals import Combine, Floats, f1, grouped, ratio
from eval.metrics.pages import page_prf
from eval.metrics.regions import region_prf
from eval.metrics.retrieval import all_hit_at_k, any_hit_at_k, mrr, ndcg_at_k, recall_at_k
from eval.scoring import Scored
from eval.tables import Column, Unit

Aggregate = Literal["official", "strict"]
AGGREGATES: tuple[Aggregate, ...] = ("official", "strict")
Parts = Callable[[Scored], tuple[float, ...] | None]
"""What a question adds to the sums of a figure; None where it does not count in it."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure of a table.

    Attributes:
        official: None where the public scorer has no such figure.
        strict: likewise.
        combine: from the sums to the figure.
        counted: which of the sums is its denominator.
        divisor: its denominator where that is fixed, whatever was answered.
        known_by: whether an answer tells what is measured; None: every one does.
    """

    column: Column
    official: Parts | None
    strict: Parts | None
    combine: Combine = ratio
    counted: int = 1
    divisor: float | None = None
    known_by: Callable[[Scored], bool] | None = None

    def known(self, scored: Sequence[Scored]) -> bool:
        """Whether the predictions say what is measured: what no answer of a run tells is unknown, not 0."""
        answered = [one for one in scored if one.state == "ok"]
        return self.known_by is None or not answered or any(map(self.known_by, answered))

    def parts(self, aggregate: Aggregate) -> Parts | None:
        """What a question adds under an aggregate."""
        return self.official if aggregate == "official" else self.strict


def sums_of(scored: Sequence[Scored], parts: Parts) -> tuple[list[str], Floats]:
    """Sums by document, of the documents whose questions count."""
    groups, rows = [], []
    for one in scored:
        part = parts(one)
        if part is not None:
            groups.append(one.outcome.document)
            rows.append(part)
    names, sums = grouped(groups, rows)
    return [str(name) for name in names], sums


def _measure(
    key: str, title: str, official: Parts | None, strict: Parts | None, unit: Unit = "percent"
) -> Measure:
    return Measure(Column(key, title, unit), official, strict)


# ---- pages


def _cites(one: Scored) -> bool:
    return one.cites


def _pages(which: Literal["precision", "recall", "f1"]) -> Measure:
    def official(one: Scored) -> tuple[float, ...] | None:
        if one.state != "ok" or not one.cites:
            return None
        return page_prf(one.outcome.predicted_pages, one.outcome.gold_pages)[which], 1.0

    def strict(one: Scored) -> tuple[float, ...] | None:
        if not one.outcome.answerable or not one.outcome.gold_pages or not one.cites:
            return None
        if one.state != "ok":
            return 0.0, 1.0
        return page_prf(one.outcome.predicted_pages, one.outcome.gold_pages)[which], 1.0

    short = {"precision": "P", "recall": "R", "f1": "F1"}[which]
    return Measure(Column(f"page_{which}", f"Page {short}"), official, strict, known_by=_cites)


def _micro(one: Scored) -> tuple[float, ...]:
    found = page_prf(one.outcome.predicted_pages, one.outcome.gold_pages)
    return float(found["tp"]), float(found["tp"] + found["fn"]), float(found["tp"] + found["fp"]), 1.0


MICRO_F1 = Measure(
    Column("page_micro_f1", "Page micro-F1"),
    lambda one: _micro(one) if one.state == "ok" and one.cites else None,
    lambda one: _micro(one) if one.outcome.answerable and one.outcome.gold_pages and one.cites else None,
    lambda sums: f1(sums[..., :3]),
    3,
    known_by=_cites,
)
PAGES = (*(_pages(which) for which in ("precision", "recall", "f1")), MICRO_F1)


# ---- regions and facts


def _harmonic(sums: Floats) -> Floats:
    """F1 of recall `sums[0] / sums[1]` and precision `sums[2] / sums[3]`."""
    recall, precision = ratio(sums[..., :2]), ratio(sums[..., 2:4])
    both = recall + precision
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(both > 0, 2 * recall * precision / both, np.where(both == 0, 0.0, np.nan))


def _region_parts(one: Scored, lenient: bool, everything: bool) -> tuple[float, ...] | None:
    if not one.pages and not (everything and one.missed_regions):
        return None
    found = region_prf(one.pages, lenient=lenient)
    gold = found["gold"] + (one.missed_regions if everything else 0)
    return float(found["hits"]), float(gold), float(found["matched"]), float(found["predicted"])


def _regions(lenient: bool) -> tuple[Measure, ...]:
    name = "lenient" if lenient else "strict"

    def official(one: Scored) -> tuple[float, ...] | None:
        return _region_parts(one, lenient, everything=False)

    def strict(one: Scored) -> tuple[float, ...] | None:
        return _region_parts(one, lenient, everything=True) if one.outcome.answerable else None

    def of(*places: int) -> Combine:
        return lambda sums: ratio(sums[..., list(places)])

    def made(key: str, title: str, combine: Combine, counted: int) -> Measure:
        column = Column(f"region_{name}_{key}", f"Region {name} {title}")
        return Measure(column, official, strict, combine, counted, known_by=_cites)

    return (
        made("precision", "P", of(2, 3), 3),
        made("recall", "R", of(0, 1), 1),
        made("f1", "F1", _harmonic, 1),
    )


REGIONS = (*_regions(lenient=False), *_regions(lenient=True))


def _facts(one: Scored, missed: int) -> tuple[float, ...] | None:
    judged = [verdict for verdict in one.verdicts if verdict is not None]
    whole = len(judged) + missed
    return (float(sum(judged)), float(whole)) if whole else None


FACTS = (
    Measure(
        Column("fact_consistency", "Fact consistency"),
        lambda one: _facts(one, 0),
        lambda one: _facts(one, one.missed_facts) if one.outcome.answerable else None,
        known_by=_cites,
    ),
)


# ---- answers


def _answers(key: str, title: str, wanted: bool | None, value: Callable[[Scored], float | None]) -> Measure:
    """A mean over answerable, unanswerable or all questions; without an answer it is 0 or does not count."""

    def strict(one: Scored) -> tuple[float, ...] | None:
        if wanted is not None and one.outcome.answerable != wanted:
            return None
        got = value(one) if one.state == "ok" else 0.0
        return None if got is None else (got, 1.0)

    return _measure(key, title, lambda one: strict(one) if one.state == "ok" else None, strict)


def over_all(measure: Measure) -> Measure:
    """A measure whose public scorer, too, counts a question without an answer as not right."""
    return replace(measure, official=measure.strict)


def _score(one: Scored) -> float | None:
    return one.outcome.score


ACCURACY = (
    _answers("accuracy_answerable", "Accuracy, answerable", True, _score),
    _answers("accuracy_unanswerable", "Accuracy, unanswerable", False, _score),
    _answers("accuracy", "Accuracy", None, _score),
)


def _f1_parts(answered: bool) -> Parts:
    """Parts of F1; a question without an answer is not right, and counts as answered or as abstained from."""

    def parts(one: Scored) -> tuple[float, ...] | None:
        answerable = float(one.outcome.answerable)
        if one.state != "ok":
            return 0.0, answerable, float(answered), 1.0
        if one.outcome.score is None:
            return None
        return one.outcome.score * answerable, answerable, float(not one.outcome.abstained), 1.0

    return parts


def rectified(total: int) -> Measure:
    """The sum of the scores over all questions of the benchmark, asked or not."""
    parts = ACCURACY[-1].strict
    return Measure(
        Column("rectified", "Rectified mean"), parts, parts, lambda sums: sums[..., 0] / total, divisor=total
    )


ANSWER_F1 = Measure(
    Column("answer_f1", "F1"), _f1_parts(True), _f1_parts(True), lambda sums: f1(sums[..., :3]), 3
)
ANSWER_F1_V2 = replace(ANSWER_F1, official=_f1_parts(False))
"""V2's judge is given an empty response where there is no answer, which its rubric calls abstained."""


def more(key: str, title: str) -> Measure:
    """A further measure of the answers, by its name in `AnswerScore.more`."""
    return over_all(_answers(key, title, None, lambda one: one.more.get(key, 0.0)))


# ---- retrieval


def _retrieval(
    key: str, title: str, value: Callable[[Sequence[object], frozenset[object]], float]
) -> Measure:
    def parts(one: Scored, absent: tuple[float, ...] | None) -> tuple[float, ...] | None:
        if not one.journey.gold:
            return None
        if one.ranking is None:
            return absent
        return value(one.ranking, frozenset(one.journey.gold)), 1.0

    return Measure(
        Column(key, title),
        lambda one: parts(one, None),
        lambda one: parts(one, (0.0, 1.0)),
        known_by=lambda one: one.ranking is not None,
    )


def _at(key: str, k: int) -> Measure:
    function = {"recall": recall_at_k, "any_hit": any_hit_at_k, "all_hit": all_hit_at_k, "ndcg": ndcg_at_k}[
        key
    ]
    return _retrieval(f"{key}@{k}", f"{key}@{k}", lambda ranked, gold: function(ranked, gold, k))


RETRIEVAL = (
    *(_at("recall", k) for k in (1, 3, 4, 5, 10)),
    *(_at(key, k) for key in ("any_hit", "all_hit") for k in (4, 10)),
    _at("ndcg", 10),
    _retrieval("mrr", "mrr", mrr),
)


# ---- cost


def _cost(key: str, title: str, unit: Unit, value: Callable[[Scored], float]) -> Measure:
    def parts(one: Scored) -> tuple[float, ...] | None:
        return None if one.spent is None else (value(one), 1.0)

    return _measure(key, title, None, parts, unit)


def _spent(name: str) -> Callable[[Scored], float]:
    return lambda one: float(getattr(one.spent, name))


COST = (
    _cost("rounds", "Rounds", "number", _spent("rounds")),
    _cost("pages_read", "Pages read", "number", _spent("pages")),
    _cost("seconds", "Seconds", "seconds", _spent("seconds")),
    _cost("tokens", "Tokens", "number", _spent("tokens")),
    _cost("cost", "Cost", "money", _spent("money")),
)
