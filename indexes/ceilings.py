"""How high the MaxSim of a page can be, at the speed of a processor that multiplies bfloat16 itself.

Such a processor multiplies codes where they lie, in less time than it takes to unpack them and multiply in
float32, but it rounds: the query to bfloat16 before, every similarity to bfloat16 after. How far that can
move a similarity is known, so a page's sum of similarities and of what rounding may have taken away is a
ceiling: no page's score is above it. Only pages with a ceiling at least as high as the k-th best score need
to be compared exactly, and the result is that of comparing all.

PyTorch multiplies. It is used where it is loaded already, as by whatever embeds queries for such codes.
"""

import ctypes
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indexes.scan import Floats, Offsets
from indexes.vectors import LONGEST

ROWS = 24576  # vectors multiplied at a time where they lie
COPIED = 8192  # vectors of single pages copied together, to stay in the cache, if a page has no more
FOLD = 16  # at most so many neighbouring vectors are reduced to their maxima before pages are
PAGE = 32  # a page of the usual length has at least so many folds: few of them reach into another page
WIDTH = 32  # query vectors are padded to a multiple of it, which multiplies faster than fewer
LENGTHS = 2.0**-30, 2.0**30  # of query vectors, if not 0, whose products are no less exact than thought here
_HALF_STEP = np.float32(2**-8)  # between bfloat16 numbers, of the power of two below them
_SHIFT, _EXPONENT = np.uint32(16), np.uint32(0x7F800000)


def quick() -> bool:
    """Whether PyTorch is loaded and this processor multiplies bfloat16."""
    torch: Any = sys.modules.get("torch")
    if torch is None or not torch.backends.mkldnn.is_available() or not torch.backends.mkldnn.enabled:
        return False
    asked = (getattr(torch.cpu, f"_is_{name}_supported", None) for name in ("avx512_bf16", "amx_tile"))
    return any(supported() for supported in asked if supported is not None)


def ordinary(query: Floats) -> bool:
    """Whether ceilings hold for a query `(q, dim)`: none of its vectors is nearly 0 or of huge numbers."""
    lengths = _lengths(query.astype(np.float64))
    low, high = LENGTHS
    return bool(((lengths == 0) | ((lengths >= low) & (lengths <= high))).all())


class Ceilings:
    """A query made ready to tell what its vectors' highest similarities on a page are not above.

    -inf for a page without vectors. A page's sum is a ceiling of its MaxSim, also as rounded in float32.

    Codes are the bytes of vectors as bfloat16, one vector after the other; none is longer than `LONGEST`.

    Args:
        query: `(q, dim)`, an `ordinary` one.
    """

    def __init__(self, query: Floats) -> None:
        import torch

        self._q, self._dim = query.shape
        padded = np.zeros((max(1, -(-self._q // WIDTH)) * WIDTH, self._dim), np.float32)
        padded[: self._q] = query
        rounded = torch.from_numpy(padded).bfloat16()
        self._transposed = rounded.T.contiguous()
        # By rounding of the query, and of sums in float32: here, in the exact comparison and of its scores.
        lost = _lengths(query - rounded[: self._q].float().numpy())
        lost += (self._dim + self._q) * np.float32(2**-22) * _lengths(query)
        self._lost = np.float32(LONGEST) * lost

    def of_all(self, codes: NDArray[np.uint8], offsets: Offsets) -> Floats:
        """Of the pages of a document: `(pages, q)`.

        Args:
            codes: of all its vectors.
            offsets: `(pages + 1,)`, rising from 0; page `i` owns vectors `offsets[i]` to `offsets[i + 1]`.
        """
        filled = np.flatnonzero(offsets[1:] > offsets[:-1])
        if not len(filled):
            return np.full((len(offsets) - 1, self._q), -np.inf, np.float32)
        fold = min(FOLD, 1 << max(1, int(offsets[-1]) // len(filled) // PAGE).bit_length() - 1)
        vectors = _tensor(codes, self._dim)
        blocks = (vectors[start : start + ROWS] for start in range(0, len(vectors), ROWS))
        folded = self._folded(blocks, min(ROWS, len(vectors)), -(-len(vectors) // fold), fold)
        # At its ends a page shares folds with its neighbours: their maxima count for it, too.
        maxima = _range_maxima(folded, offsets[filled] // fold, -(-offsets[filled + 1] // fold))
        return self._ceilings(maxima, filled, len(offsets) - 1)

    def of_each(self, pages: Sequence[NDArray[np.uint8]]) -> Floats:
        """Of single pages, each given by its codes: `(pages, q)`."""
        counts = np.array([len(page) for page in pages], np.int64) // (2 * self._dim)
        folds = -(-counts // FOLD)
        filled = np.flatnonzero(folds)
        rows = max(COPIED, int(folds.max(initial=0)) * FOLD)
        folded = self._folded(self._copied(pages, folds * FOLD, rows), rows, int(folds.sum()), FOLD)
        ends = np.cumsum(folds)
        maxima = _range_maxima(folded, (ends - folds)[filled], ends[filled])
        return self._ceilings(maxima, filled, len(pages))

    def _copied(
        self, pages: Iterable[NDArray[np.uint8]], sizes: NDArray[np.int64], rows: int
    ) -> Iterator[Any]:
        """Vectors of pages side by side, at most `rows` at a time, each page filled up with 0 to its size."""
        import torch

        vectors = torch.empty((rows, self._dim), dtype=torch.bfloat16)
        memory = vectors.view(torch.uint8).numpy().ravel()
        width, end = 2 * self._dim, 0
        for page, size in zip(pages, (sizes * width).tolist(), strict=True):
            if end + size > len(memory):
                yield vectors[: end // width]
                end = 0
            memory[end : end + len(page)] = page
            memory[end + len(page) : end + size] = 0
            end += size
        if end:
            yield vectors[: end // width]

    def _folded(self, blocks: Iterable[Any], rows: int, folds: int, fold: int) -> NDArray[np.int16]:
        """The maxima of bfloat16 products with each `fold` vectors: `(folds, q or more)`, as bits.

        Bits are compared as whole numbers: right among numbers that are not negative, and these stand above
        all that are.

        Args:
            blocks: vectors `(n, dim)` in bfloat16; but for the last block, `n` is a multiple of `fold`.
            rows: of the largest block.
            folds: in all blocks.
            fold: a power of 2.
        """
        import torch

        width = self._transposed.shape[1]
        result = torch.empty((folds, width), dtype=torch.int16)
        products = torch.empty((-(-rows // fold) * fold, width), dtype=torch.bfloat16)
        done = 0
        for block in blocks:
            torch.mm(block, self._transposed, out=products[: len(block)])
            some = -(-len(block) // fold)
            if some * fold > len(block):
                products[len(block) : some * fold] = 0
            bits = products[: some * fold].view(torch.int16).view(some, fold, width)
            half = fold
            while (half := half // 2) > 1:
                torch.maximum(bits[:, :half], bits[:, half : 2 * half], out=bits[:, :half])
            # The last time into the result: with folds of one vector, of it and itself.
            torch.maximum(bits[:, 0], bits[:, int(fold > 1)], out=result[done : done + some])
            done += some
        return result.numpy()

    def _ceilings(self, maxima: NDArray[np.int16], filled: NDArray[np.int64], pages: int) -> Floats:
        """Ceilings of all pages by the maxima, as bits, of those that are filled."""
        result = np.full((pages, self._q), -np.inf, np.float32)
        bits = maxima[:, : self._q]
        best = (np.maximum(bits, 0).astype(np.uint32) << _SHIFT).view(np.float32)
        half_steps = (best.view(np.uint32) & _EXPONENT).view(np.float32) * _HALF_STEP
        highest = best + half_steps + self._lost
        # What is no number, in a damaged file, says nothing of the pages that share a fold with it.
        result[filled] = np.where(np.isnan(highest), np.inf, highest)
        return result


def _range_maxima(rows: NDArray[np.int16], starts: Offsets, ends: Offsets) -> NDArray[np.int16]:
    """The maxima of the rows `starts[i]` to `ends[i]` (exclusive, at least one row): `(ranges, width)`.

    By a sparse table (Bender and Farach-Colton 2000, "The LCA Problem Revisited"): the maxima of all runs of
    1, 2, 4... rows, two of which cover a range.
    """
    result = np.empty((len(starts), rows.shape[1]), np.int16)
    lengths, run = ends - starts, 1
    while True:
        at = np.flatnonzero((lengths >= run) & (lengths < 2 * run))
        if len(at):
            result[at] = np.maximum(rows[starts[at]], rows[ends[at] - run])
        if 2 * run > lengths.max(initial=0):
            return result
        rows = np.maximum(rows[:-run], rows[run:])
        run *= 2


def _lengths(vectors: NDArray[Any]) -> NDArray[Any]:
    lengths: NDArray[Any] = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    return lengths


def _tensor(codes: NDArray[np.uint8], dim: int) -> Any:
    """Codes as vectors `(n, dim)`, where they lie."""
    import torch

    # PyTorch knows no memory that is only read, and would warn.
    memory = (ctypes.c_uint8 * codes.nbytes).from_address(codes.ctypes.data)
    return torch.frombuffer(memory, dtype=torch.bfloat16).view(-1, dim)
