"""The frames in which vision-language models say boxes, and how they become boxes of the page.

| frame | whose | numbers |
|---|---|---|
| `qwen2.5-vl` | Qwen2.5-VL | pixels of the image as it was resized for the model, `x1, y1, x2, y2` |
| `thousand` | Qwen2-VL, Qwen3-VL | 0 to 1000 of width and height, `x1, y1, x2, y2` |
| `thousand-yx` | Gemini | 0 to 1000 of height and width, `y1, x1, y2, x2` |
| `normalized` | as configured | 0 to 1 of width and height, `x1, y1, x2, y2` |
| `pixels` | as configured | pixels of the image that was sent, `x1, y1, x2, y2` |
"""

import math
from collections.abc import Sequence
from typing import Literal, get_args

from indexes.types import BBox

BoxFrame = Literal["qwen2.5-vl", "thousand", "thousand-yx", "normalized", "pixels"]
FRAMES: tuple[BoxFrame, ...] = get_args(BoxFrame)


def to_bbox(values: Sequence[float], frame: BoxFrame, image_size: tuple[float, float]) -> BBox | None:
    """A model's box as a box of the page, corners put in order and clipped to the page.

    Args:
        values: four numbers as the model said them.
        frame: what they mean.
        image_size: width and height in pixels of the image that the model saw; for `qwen2.5-vl` of the image
            after it was resized for the model. The other frames but `pixels` do without it.

    Returns:
        The box, or None where nothing of it lies on the page: it stands outside or has no area.

    Raises:
        ValueError: the frame is unknown, there are not four numbers, one is none or not finite, or the size
            is needed and not positive.
    """
    if frame not in FRAMES:
        raise ValueError(f"box frame {frame!r}: expected one of {', '.join(FRAMES)}")
    first, second, third, fourth = _numbers(values)
    if frame == "thousand-yx":
        first, second, third, fourth = second, first, fourth, third
    width, height = _scale(frame, image_size)
    box = BBox.clipped(first / width, second / height, third / width, fourth / height)
    return box if box.area > 0 else None


def _numbers(values: Sequence[float]) -> list[float]:
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        raise ValueError(f"box {values!r}: expected a list of four numbers")
    if len(values) != 4:
        raise ValueError(f"box {list(values)!r}: expected four numbers, got {len(values)}")
    numbers = []
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"box {list(values)!r}: {value!r} is no number")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise ValueError(f"box {list(values)!r}: {value!r} is not finite")
        numbers.append(number)
    return numbers


def _scale(frame: BoxFrame, image_size: tuple[float, float]) -> tuple[float, float]:
    """What stands for the whole width and the whole height."""
    if frame == "normalized":
        return 1.0, 1.0
    if frame in ("thousand", "thousand-yx"):
        return 1000.0, 1000.0
    width, height = image_size
    if not (0 < width < math.inf and 0 < height < math.inf):
        raise ValueError(f"image of {width} x {height} pixels: expected a width and a height above 0")
    return float(width), float(height)
