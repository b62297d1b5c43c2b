"""How high the MaxSim of a page can be, at the speed of a processor that multiplies bfloat16 itself.

Such a processor multiplies codes where they lie, in less time than it takes to unpack them and multiply in
float32, but it rounds: the query to bfloat16 before, every similarity to bfloat16 after. How far that can
move a similarity is known, so a page's sum of similarities and of what rounding may have taken away is a
ceiling: no page's score is above it. Only pages with a ceiling at least as high as the k-th best score need
to be compared exactly, and the result is that of comparing all.

PyTorch multiplies. It is used where it is loaded already, as by whatever embeds queries for such codes.
"""

import sys
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indexes.scan import Floats, Offsets
from indexes.vectors import LONGEST

ROWS = 24576  # vectors multiplied at a time
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
    lengths = np.linalg.norm(query.astype(np.float64), axis=1)
    low, high = LENGTHS
    return bool(((lengths == 0) | ((lengths >= low) & (lengths <= high))).all())


def ceilings(query: Floats, codes: NDArray[np.uint8], offsets: Offsets) -> Floats:
    """What the MaxSim of each page is not above: `(pages,)`, -inf for a page without vectors.

    Args:
        query: `(q, dim)`, an `ordinary` one.
        codes: the bytes of all vectors as bfloat16, one after the other; none is longer than `LONGEST`.
        offsets: `(pages + 1,)`, rising from 0; page `i` owns the vectors `offsets[i]` to `offsets[i + 1]`.
    """
    import torch

    q, dim = query.shape
    result = np.full(len(offsets) - 1, -np.inf, np.float32)
    filled = np.diff(offsets) > 0
    if not filled.any():
        return result
    padded = np.zeros((max(1, -(-q // WIDTH)) * WIDTH, dim), np.float32)
    padded[:q] = query
    rounded = torch.from_numpy(padded).bfloat16()
    fold = min(FOLD, 1 << max(1, int(np.median(np.diff(offsets)[filled])) // PAGE).bit_length() - 1)
    folded = _folded(rounded, codes, fold)
    # At its ends a page shares folds with its neighbours: their maxima count for it, too.
    bounds = np.stack([offsets[:-1] // fold, -(-offsets[1:] // fold)], axis=1)[filled]
    bits = np.maximum.reduceat(folded, bounds.ravel()[:-1], axis=0)[::2, :q]
    best = (np.maximum(bits, 0).astype(np.uint32) << _SHIFT).view(np.float32)
    half_steps = (best.view(np.uint32) & _EXPONENT).view(np.float32) * _HALF_STEP
    # By rounding of the query, and of sums in float32: here, in the exact comparison and of its scores.
    lost = np.linalg.norm(query - rounded[:q].float().numpy(), axis=1)
    lost += (dim + q) * np.float32(2**-22) * np.linalg.norm(query, axis=1)
    highest = (best + half_steps + np.float32(LONGEST) * lost).sum(axis=1)
    # What is no number, in a damaged file, says nothing of the pages that share a fold with it.
    result[filled] = np.where(np.isnan(highest), np.inf, highest)
    return result


def _folded(query: Any, codes: NDArray[np.uint8], fold: int) -> NDArray[np.int16]:
    """The maxima of a query's bfloat16 products with each `fold` vectors: `(n / fold + 1, q)`, as bits.

    Bits are compared as whole numbers: right among numbers that are not negative, and these stand above
    all that are. The last row is 0: there ends a page that ends within the last fold, but is not the last.
    """
    import torch

    width, dim = query.shape
    transposed = query.T.contiguous()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*not writable")
        vectors = torch.frombuffer(codes, dtype=torch.bfloat16).view(-1, dim)
    count = -(-len(vectors) // fold)
    result = torch.empty((count + 1, width), dtype=torch.int16)
    result[count] = 0
    products = torch.empty((min(ROWS, count * fold), width), dtype=torch.bfloat16)
    for start in range(0, len(vectors), ROWS):
        block = vectors[start : start + ROWS]
        torch.mm(block, transposed, out=products[: len(block)])
        some = -(-len(block) // fold)
        products[len(block) : some * fold] = 0
        bits = products[: some * fold].view(torch.int16).view(some, fold, width)
        while bits.shape[1] > 1:
            half = bits.shape[1] // 2
            bits = torch.maximum(bits[:, :half], bits[:, half:], out=bits[:, :half])
        result[start // fold : start // fold + some] = bits[:, 0]
    return result.numpy()
