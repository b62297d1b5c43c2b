"""Numbered blocks drawn lightly on a picture of a page (set-of-marks), so that a model can name places."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from indexes.types import BBox, LayoutBlock

if TYPE_CHECKING:
    from PIL.Image import Image

BLUE = (30, 90, 200)
FAINT = 90  # of 255, how much of a line covers what is below


def draw_blocks(image: "Image", blocks: Sequence[LayoutBlock], region: BBox | None = None) -> "Image":
    """A copy with each block's outline and its number outside its upper left corner.

    Args:
        image: the page, or a region of it.
        blocks: the page's.
        region: what of the page the image shows; None for all.
    """
    from PIL import Image as Images
    from PIL import ImageDraw, ImageFont

    width, height = image.size
    layer = Images.new("RGBA", image.size, (0, 0, 0, 0))
    draw = ImageDraw.Draw(layer)
    font = ImageFont.load_default(max(9, round(min(width, height) / 70)))
    seen = region or BBox(0, 0, 1, 1)
    for block in blocks:
        if seen.intersection(block.bbox) <= 0:
            continue
        x1, y1, x2, y2 = _placed(block.bbox, seen, width, height)
        draw.rectangle((x1, y1, x2, y2), outline=(*BLUE, FAINT), width=1)
        number = str(block.order)
        left, top, right, bottom = draw.textbbox((0, 0), number, font=font)
        x, y = max(0.0, x1 - (right - left) - 3), max(0.0, y1 - 1)
        draw.rectangle((x, y, x + right - left + 2, y + bottom - top + 2), fill=(255, 255, 255, 200))
        draw.text((x + 1 - left, y + 1 - top), number, fill=(*BLUE, 255), font=font)
    return Images.alpha_composite(image.convert("RGBA"), layer).convert("RGB")


def _placed(box: BBox, seen: BBox, width: int, height: int) -> tuple[float, float, float, float]:
    wide, high = max(seen.x2 - seen.x1, 1e-6), max(seen.y2 - seen.y1, 1e-6)
    x1, x2 = ((x - seen.x1) / wide * width for x in (box.x1, box.x2))
    y1, y2 = ((y - seen.y1) / high * height for y in (box.y1, box.y2))
    return max(0.0, x1), max(0.0, y1), min(width - 1.0, x2), min(height - 1.0, y2)
