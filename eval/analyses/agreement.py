"""How well labels agree with people's: accuracy, kappa, macro-F1, MCC, alpha, and tau-b of scores.

As in DocScope's judge alignment (arXiv:2605.08888, appendix D). scikit-learn, scipy and krippendorff do the
arithmetic; they come with the extra `analysis`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2000
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Measures of agreement between a judge and people on the same items.

    Attributes:
        alpha: Krippendorff's, over all raters and the judge; ordinal where the labels are ordered.
        kappa: Cohen's, unweighted.
        items: judged by both.

    A measure that is not defined on the items (one label throughout) is None.
    """

    items: int
    accuracy: float
    kappa: float | None
    macro_f1: float
    mcc: float | None
    alpha: float | None


def agreement(
    human: Sequence[str], judged: Sequence[str], labels: Sequence[str], *, ordered: bool
) -> Agreement:
    """Compares a judge's labels with people's.

    Args:
        human: a label an item.
        judged: the judge's, in the same order.
        labels: all that may occur, in ascending order where they are ordered.
        ordered: whether they are.

    Raises:
        ValueError: no items, or not as many on both sides.
    """
    from sklearn.metrics import accuracy_score, cohen_kappa_score, f1_score, matthews_corrcoef

    if not human or len(human) != len(judged):
        raise ValueError(f"{len(human)} and {len(judged)} labels: expected as many, at least one")
    used = [label for label in labels if label in {*human, *judged}]
    varied = len(used) > 1
    both = len(set(human)) > 1 and len(set(judged)) > 1
    return Agreement(
        items=len(human),
        accuracy=float(accuracy_score(human, judged)),
        kappa=float(cohen_kappa_score(human, judged, labels=used)) if varied else None,
        macro_f1=float(f1_score(human, judged, labels=used, average="macro", zero_division=0.0)),
        mcc=float(matthews_corrcoef(human, judged)) if both else None,
        alpha=alpha([list(human), list(judged)], labels, ordered=ordered),
    )


def alpha(ratings: Sequence[Sequence[str | None]], labels: Sequence[str], *, ordered: bool) -> float | None:
    """Krippendorff's alpha of raters over items; None where it is not defined.

    Args:
        ratings: (raters, items) of labels; None where a rater did not see an item.
        labels: all that may occur, in ascending order where they are ordered.
        ordered: whether they are.
    """
    import krippendorff

    rank = {label: float(place) for place, label in enumerate(labels)}
    data = np.array([[np.nan if r is None else rank[r] for r in row] for row in ratings], dtype=float)
    paired = (~np.isnan(data)).sum(axis=0) >= 2
    seen = data[:, paired]
    if len(np.unique(seen[~np.isnan(seen)])) < 2:
        return None
    level: Literal["ordinal", "nominal"] = "ordinal" if ordered else "nominal"
    return float(krippendorff.alpha(reliability_data=data, level_of_measurement=level))


def tau_b(scores: Floats, labels: Floats) -> float:
    """Kendall's tau-b of scores with ordered labels; NaN where either does not vary."""
    from scipy.stats import kendalltau

    return float(kendalltau(scores, labels, variant="b").statistic)


@dataclass(frozen=True, slots=True)
class Correlation:
    """Tau-b of a score with people's labels and its 95 % bootstrap interval; None where not defined."""

    value: float | None
    low: float | None
    high: float | None
    items: int


@dataclass(frozen=True, slots=True)
class Difference:
    """How much more tau-b the first of two scores has, its 95 % interval and two-sided p, paired."""

    value: float | None
    low: float | None
    high: float | None
    p: float | None


def correlations(
    scores: Mapping[str, Sequence[float]],
    labels: Sequence[float],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[dict[str, Correlation], dict[tuple[str, str], Difference]]:
    """Tau-b of several scores with the same labels, and of each pair the difference.

    Items are drawn with replacement, the same ones for every score (paired bootstrap). Resamples in which a
    tau-b is not defined are left out.

    Args:
        scores: name to a score an item.
        labels: people's, as numbers in ascending order, in the same order.
        resamples: of the bootstrap.
        seed: of the draws.

    Raises:
        ValueError: no items, or not as many on both sides.
    """
    wanted = np.asarray(labels, dtype=float)
    columns = {name: np.asarray(values, dtype=float) for name, values in scores.items()}
    for name, values in columns.items():
        if not len(wanted) or len(values) != len(wanted):
            raise ValueError(f"{name}: {len(values)} scores of {len(wanted)} items")
    draws = np.random.default_rng(seed).integers(0, len(wanted), (resamples, len(wanted)))
    drawn = {
        name: np.array([_quiet_tau(values[take], wanted[take]) for take in draws])
        for name, values in columns.items()
    }
    single = {
        name: Correlation(_known(_quiet_tau(values, wanted)), *_interval(drawn[name]), len(wanted))
        for name, values in columns.items()
    }
    names = list(columns)
    pairs = {}
    for place, first in enumerate(names):
        for second in names[place + 1 :]:
            whole = _quiet_tau(columns[first], wanted) - _quiet_tau(columns[second], wanted)
            pairs[first, second] = _difference(whole, drawn[first] - drawn[second])
    return single, pairs


def _quiet_tau(scores: Floats, labels: Floats) -> float:
    if np.ptp(scores) == 0 or np.ptp(labels) == 0:
        return float("nan")
    return tau_b(scores, labels)


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _interval(values: Floats) -> tuple[float | None, float | None]:
    known = values[~np.isnan(values)]
    if not len(known):
        return None, None
    low, high = np.percentile(known, [2.5, 97.5])
    return float(low), float(high)


def _difference(value: float, drawn: Floats) -> Difference:
    known = drawn[~np.isnan(drawn)]
    if not len(known) or np.isnan(value):
        return Difference(_known(value), None, None, None)
    least = min(int((known <= 0).sum()), int((known >= 0).sum()))
    # one is added to both counts, so that p is never 0
    return Difference(float(value), *_interval(drawn), min(1.0, 2 * (least + 1) / (len(known) + 1)))
