"""The pages that are likely among the best, by the vectors that a query's vectors brought home.

What a query vector brought of a page stands for its highest similarity there, and where it brought nothing,
the least similarity that it brought at all. Both are somewhat off, each query vector in its own way:
comparing some pages shows by how much, and makes better estimates of the others.
"""

import numpy as np
from numpy.typing import NDArray

from indexes.maxsim import best_pages, total

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
PRIOR = 8  # pages: so much all query vectors together say of how far one's similarities are off


class Estimates:
    """About how high pages score.

    Args:
        brought: `(pages, q)`, the highest similarity that each query vector brought of a page; NaN for none.
        least: `(q,)`, the least that it brought of any.

    Attributes:
        scores: `(pages,)`.
    """

    def __init__(self, brought: Floats, least: Floats) -> None:
        self._missing = np.isnan(brought)
        self._similarities = np.where(self._missing, least, brought)
        self.scores = total(self._similarities)

    def learn(self, pages: Rows, best: Floats) -> None:
        """Corrects the estimates of all pages.

        Args:
            pages: `(n,)`, those that were compared.
            best: `(n, q)`, each query vector's highest similarity there; a page with one that is not finite
                tells nothing.
        """
        sound = np.isfinite(best).all(axis=1)
        pages, best = pages[sound], best[sound]
        missing, off = self._missing[pages], best - self._similarities[pages]
        wrong = [_wrong(np.where(of, off, 0), of) for of in (missing, ~missing)]
        self.scores = total(self._similarities + np.where(self._missing, *wrong))


def _wrong(off: Floats, of: NDArray[np.bool_]) -> Floats:
    """By how much each query vector's similarities are off, `(q,)`, where `of` says so."""
    counts, sums = of.sum(axis=0), off.sum(axis=0)
    mean: Floats = (sums + PRIOR * sums.sum() / max(1, counts.sum())) / (counts + PRIOR)
    return mean.astype(np.float32)


def likely_pages(similarities: Floats, rows: Rows, pages: int, k: int) -> tuple[Rows, Estimates]:
    """The `k` pages that are estimated best.

    Args:
        similarities: `(q, n)`, falling; of query vector `i` the vectors most similar to it.
        rows: `(q, n)`, the rows of their pages, -1 where there are fewer than `n`.
        pages: how many there are.
        k: how many are wanted; pages of which nothing was brought are not among them.

    Returns:
        Their rows `(k,)`, the best first, and their estimates.
    """
    brought = np.full((len(rows), pages), np.nan, np.float32)
    least = np.zeros(len(rows), np.float32)
    some = np.zeros(pages, bool)
    for i, (values, owners) in enumerate(zip(similarities, rows, strict=True)):
        count = int(np.count_nonzero(owners >= 0))  # they are the first ones
        if count:
            # Backwards: of a page's several values the last one assigned stays, which is the highest.
            owners = owners[count - 1 :: -1]
            brought[i, owners] = values[count - 1 :: -1]
            least[i] = values[count - 1]
            some[owners] = True
    scores = np.where(np.isnan(brought), least[:, None], brought).sum(axis=0)
    best = best_pages(np.where(some, scores, np.float32(-np.inf)), k)
    return np.array(best, np.int64), Estimates(brought[:, best].T, least)
