"""What texts and pictures cost a model whose tokenizer is not here: upper estimates, by published rules.

Pictures: Qwen2-VL and Qwen2.5-VL take a token for 28 x 28 pixels, Qwen3-VL and later for 32 x 32, after
`smart_resize` of qwen-vl-utils; others count tiles of 512 pixels (170 tokens each and 85 more), patches
of 28, or 750 pixels a token, whichever is most.
"""

import math
import re
from collections.abc import Iterator

LONGEST = 2048  # pixels of a side from which endpoints shrink pictures on their own
_MIN_PIXELS = 4 * 28 * 28
_QWEN = re.compile(r"qwen-?_?(\d(?:\.\d+)?)?-?_?(?:vl|omni)|qwen-?_?3\.\d", re.IGNORECASE)
_PIECES = re.compile(r"[A-Za-z]+|\d|\s+|[^\sA-Za-z\d]")


def text_tokens(text: str) -> int:
    """Tokens of a text at most, as byte-level tokenizers count: a digit or sign each, three letters each."""
    total = 0
    for piece in _PIECES.findall(text):
        if piece.isspace():
            total += piece.count("\n") + (len(piece) > 1 and "\n" not in piece)
        elif piece.isascii():
            total += -(-len(piece) // 3) if piece.isalpha() else 1
        else:
            total += len(piece.encode("utf-8", "surrogatepass"))
    return total


def qwen_factor(model: str) -> int | None:
    """Pixels that a token of a Qwen vision model is wide and high; None for another model."""
    found = _QWEN.search(model.rsplit("/", 1)[-1])
    if found is None:
        return None
    return 28 if (found[1] or "3").startswith("2") else 32


def smart_resize(width: int, height: int, factor: int, most: int) -> tuple[int, int]:
    """The size to which qwen-vl-utils brings a picture, of at most `most` tokens: multiples of `factor`."""
    if max(width, height) > 200 * min(width, height):
        raise ValueError(f"a picture of {width} x {height} pixels: too narrow for the model")
    wide, high = (max(factor, round(side / factor) * factor) for side in (width, height))
    limit = most * factor * factor
    if wide * high > limit:
        shrink = math.sqrt(width * height / limit)
        wide, high = (max(factor, math.floor(s / shrink / factor) * factor) for s in (width, height))
    elif wide * high < _MIN_PIXELS:
        grow = math.sqrt(_MIN_PIXELS / (width * height))
        wide, high = (math.ceil(s * grow / factor) * factor for s in (width, height))
    return wide, high


def picture_tokens(model: str, width: int, height: int) -> int:
    """Tokens of a picture at most."""
    factor = qwen_factor(model)
    if factor is not None:
        wide, high = smart_resize(width, height, factor, 10**9)
        return wide * high // (factor * factor) + 2
    fit = min(1.0, LONGEST / max(width, height))
    short = min(1.0, 768 / (min(width, height) * fit)) * fit
    tiles = math.ceil(width * short / 512) * math.ceil(height * short / 512)
    patches = math.ceil(width / 28) * math.ceil(height / 28)
    return max(85 + 170 * tiles, patches, math.ceil(width * height / 750))


def picture_size(model: str, width: int, height: int, most: int) -> tuple[int, int]:
    """The largest size, in the picture's proportions, of at most `most` tokens and `LONGEST` pixels a side.

    Where `most` is below the smallest cost of a picture, it is a size of that cost.
    """
    factor = qwen_factor(model)
    if factor is not None:
        room = max(1, most - 2)
        wide, high = smart_resize(width, height, factor, room)
        while wide * high > room * factor * factor and max(wide, high) > factor:  # sides of one factor
            wide, high = (
                max(factor, side - factor) if side == max(wide, high) else side for side in (wide, high)
            )
        return wide, high
    for size in _smaller(width, height, min(1.0, LONGEST / max(width, height))):
        if picture_tokens(model, *size) <= most:
            return size
    return size


def _smaller(width: int, height: int, scale: float) -> Iterator[tuple[int, int]]:
    while True:
        size = max(1, math.floor(width * scale)), max(1, math.floor(height * scale))
        yield size
        scale *= 0.98
        if max(size) <= 64:
            return
