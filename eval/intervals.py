"""How sure a figure is: bootstrap intervals over documents, and paired differences between runs.

Questions on one document are not independent, so documents are drawn, not questions (Efron and Tibshirani,
1993, chapter 8). Every figure here is a function of sums over questions, so that a resample is one product of
matrices: `sums` has a row a document and a column a sum, a draw says how often each document is in it.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Combine = Callable[[Floats], Floats]
"""From sums `(..., m)` to figures `(...)`; NaN where a figure does not exist."""

SAMPLES = 2000
BLOCK = 250  # resamples at a time
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Difference:
    """A second run's figure less a first one's.

    Attributes:
        low: of the 95 % interval.
        high: of the 95 % interval.
        p: two-sided, that there is no difference.
    """

    value: float
    low: float
    high: float
    p: float


def ratio(sums: Floats) -> Floats:
    """The first sum over the second: a mean, where the second counts."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(sums[..., 1] != 0, sums[..., 0] / sums[..., 1], np.nan)


def f1(sums: Floats) -> Floats:
    """Harmonic mean of `sums[0] / sums[1]` and `sums[0] / sums[2]`; 0 where nothing is right."""
    both = sums[..., 1] + sums[..., 2]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(both != 0, 2 * sums[..., 0] / both, np.nan)


def grouped(groups: Sequence[Hashable], parts: Sequence[Sequence[float]]) -> tuple[list[Hashable], Floats]:
    """Sums by group.

    Args:
        groups: each question's document.
        parts: each question's share in the sums.

    Returns:
        The groups in the order of their first question, and the sums, (groups, m).
    """
    names = list(dict.fromkeys(groups))
    rows = {name: i for i, name in enumerate(names)}
    sums = np.zeros((len(names), len(parts[0]) if parts else 0))
    np.add.at(sums, [rows[group] for group in groups], np.asarray(parts, dtype=np.float64))
    return names, sums


@lru_cache(maxsize=4)
def draws(groups: int, samples: int = SAMPLES, seed: int = 0) -> NDArray[np.uint16]:
    """Resamples of `groups` documents, with replacement: how often each is drawn, (samples, groups)."""
    random, share = np.random.default_rng(seed), np.full(groups, 1 / groups)
    drawn = np.empty((samples, groups), np.uint16)
    for start in range(0, samples, BLOCK):
        size = min(BLOCK, samples - start)
        drawn[start : start + size] = random.multinomial(groups, share, size=size)
    drawn.flags.writeable = False  # it is shared
    return drawn


def _resampled(counts: NDArray[np.uint16], sums: Floats) -> Floats:
    """The sums of every resample, (samples, m): in blocks, as the counts are small and many."""
    blocks = range(0, len(counts), BLOCK)
    return np.concatenate([counts[start : start + BLOCK].astype(np.float64) @ sums for start in blocks])


def interval(sums: Floats, combine: Combine, samples: int = SAMPLES) -> tuple[float, float] | None:
    """The 95 % percentile interval of a figure; None where there are less than two documents.

    Args:
        sums: by document, (documents, m).
        combine: from sums to the figure.
        samples: resamples.
    """
    if len(sums) < 2:
        return None
    return _percentiles(combine(_resampled(draws(len(sums), samples), sums)))


def difference(first: Floats, second: Floats, combine: Combine, samples: int = SAMPLES) -> Difference | None:
    """The paired difference of two runs on the same documents; None where there are less than two.

    The same documents are drawn for both. p is twice the smaller share of resamples on either side of zero,
    resamples at zero on both, with one added to each count so that it never is 0.

    Args:
        first: sums by document, (documents, m).
        second: those of the other run, rows in the same order.
        combine: from sums to the figure.
        samples: resamples.
    """
    if first.shape != second.shape:
        raise ValueError(f"sums of {first.shape} and {second.shape}: expected the same documents and sums")
    if len(first) < 2:
        return None
    counts = draws(len(first), samples)
    found = combine(_resampled(counts, second)) - combine(_resampled(counts, first))
    bounds = _percentiles(found)
    if bounds is None:
        return None
    valid = found[~np.isnan(found)]
    least = min(int((valid <= 0).sum()), int((valid >= 0).sum()))
    value = float(combine(second.sum(axis=0)) - combine(first.sum(axis=0)))
    return Difference(value, *bounds, min(1.0, 2 * (least + 1) / (len(valid) + 1)))


def _percentiles(values: Floats) -> tuple[float, float] | None:
    valid = values[~np.isnan(values)]
    if not len(valid):
        return None
    low, high = np.quantile(valid, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
