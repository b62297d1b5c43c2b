"""Exact MaxSim over vectors kept as bfloat16, at about the speed at which they can be read.

A bfloat16 is the upper half of a float32. So a 32-bit word of the codes holds two neighbouring dimensions:
its lower half shifted up, and its upper half with the rest masked, are the two numbers in float32, with
nothing rounded. Vectors go that way through buffers that stay in the processor's cache, and similarities
are summed in float32, whatever the processor; only some hundred vectors are ever unpacked.
"""

import sys
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from indexes.maxsim import page_maxima

Floats = NDArray[np.float32]
Offsets = NDArray[np.int64]
STRIPE = 4096  # vectors whose similarities are held at a time, if a page has no more
PRODUCTS = 960_000  # of a matrix product that BLAS libraries multiply without copying its factors first
_FIRST = np.zeros(1, np.int64)
_SHIFT, _MASK = np.uint32(16), np.uint32(0xFFFF0000)


def scannable(dim: int) -> bool:
    """Whether codes of so many dimensions can be scanned: two of them make a word, low half first."""
    return dim % 2 == 0 and sys.byteorder == "little"


class Scan:
    """A query made ready to be compared with codes.

    Args:
        query: `(q, dim)`, `dim` even.
        codes: the bytes of all vectors of a document, one after the other, low byte first.
    """

    def __init__(self, query: Floats, codes: NDArray[np.uint8]) -> None:
        self._codes = codes
        q, dim = query.shape
        self._q, self._half = q, dim // 2
        self._low = np.ascontiguousarray(query[:, 0::2].T, np.float32)
        self._high = np.ascontiguousarray(query[:, 1::2].T, np.float32)
        self._rows = max(16, PRODUCTS // max(1, q * self._half))
        size = self._rows * self._half
        self._words = np.empty(size, np.uint32)
        self._unpacked = np.empty((2, size), np.float32)
        self._some, self._more = np.empty((2, self._rows, q), np.float32)

    def best_matches(self, offsets: Offsets) -> Floats:
        """Each query vector's highest inner product on each page: `(pages, q)`, -inf where it has none.

        Of the offsets `(pages + 1,)`, rising, page `i` owns the vectors `offsets[i]` to `offsets[i + 1]`.
        """
        best = np.full((len(offsets) - 1, self._q), -np.inf, np.float32)
        if not self._q:
            return best
        spans = list(stripes(offsets, STRIPE))
        longest = max((int(offsets[last] - offsets[first]) for first, last in spans), default=0)
        buffer = np.empty((longest, self._q), np.float32)
        for first, last in spans:
            start, end = int(offsets[first]), int(offsets[last])
            similarities = buffer[: end - start]
            for row in range(start, end, self._rows):
                stop = min(end, row + self._rows)
                self._compare(row, stop, similarities[row - start : stop - start])
            best[first:last] = page_maxima(similarities, offsets[first : last + 1] - start)
        return best

    def best_match(self, start: int, end: int) -> Floats:
        """Each query vector's highest inner product with the vectors `start` to `end` (exclusive): `(q,)`.

        -inf where there are none.
        """
        best = np.full(self._q, -np.inf, np.float32)
        for row in range(start, end, self._rows) if self._q else ():
            stop = min(end, row + self._rows)
            similarities = self._some[: stop - row]
            self._compare(row, stop, similarities)
            np.maximum(best, np.maximum.reduceat(similarities, _FIRST, axis=0)[0], out=best)
        return best

    def _compare(self, row: int, stop: int, out: Floats) -> None:
        """Writes the similarities of vectors `row` to `stop` into `out`, `(stop - row, q)`."""
        n, half = stop - row, self._half
        words, (low, high), more = self._words[: n * half], self._unpacked[:, : n * half], self._more[:n]
        # The codes lie at odd addresses of the file: copied, they can be taken word by word.
        np.copyto(words.view(np.uint8), self._codes[row * half * 4 : stop * half * 4])
        np.left_shift(words, _SHIFT, out=low.view(np.uint32))
        np.bitwise_and(words, _MASK, out=high.view(np.uint32))
        np.matmul(low.reshape(n, half), self._low, out=out)
        np.matmul(high.reshape(n, half), self._high, out=more)
        np.add(out, more, out=out)


def stripes(offsets: Offsets, size: int) -> Iterator[tuple[int, int]]:
    """Consecutive pages `first` to `last` (exclusive) with at most `size` vectors, or one page with more."""
    first, pages = 0, len(offsets) - 1
    while first < pages:
        fitting = int(np.searchsorted(offsets, offsets[first] + size, side="right")) - 1
        last = max(first + 1, fitting)
        yield first, last
        first = last
