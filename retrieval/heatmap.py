"""A picture of what a query matched on a page: the map of similarities and the regions with their scores."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from indexes.cache import write_atomic
from indexes.errors import InputError
from indexes.regions import PageMatch
from indexes.types import BBox

if TYPE_CHECKING:
    from PIL.Image import Image

    from indexes.document import Document
    from retrieval.types import RetrievedPage

DPI = 144
FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP"}
STRONGEST = 0.6  # how opaque the hottest place is painted
BLUE = (20, 60, 200)
COLORS = ((255, 255, 178), (253, 141, 60), (189, 0, 38))  # from cold to hot (ColorBrewer, YlOrRd)


def check_target(path: Path) -> None:
    """Refuses a picture's path that cannot be written, before any work is done.

    Raises:
        InputError: no image format by its ending, a folder, or in a folder that does not exist.
    """
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"--heatmap {path}: name a picture, ending in {', '.join(FORMATS)}")
    if path.is_dir():
        raise InputError(f"--heatmap {path}: is a folder; name a picture in it, such as {path / 'map.png'}")
    if not path.parent.is_dir():
        raise InputError(f"--heatmap {path}: there is no folder {path.parent}; create it first")


def write_heatmap(document: "Document", page: "RetrievedPage", match: PageMatch, path: Path) -> None:
    """Draws a page's map and regions over its rendering and writes the picture, whole or not at all.

    Args:
        document: the page's document.
        page: the page with its regions.
        match: how its vectors match the query.
        path: where to; its ending says the format.

    Raises:
        InputError: the page cannot be rendered, or the picture cannot be written.
    """
    try:
        image = document.render(page.ref.page, DPI)
    except ValueError as error:
        raise InputError(str(error)) from error
    picture = draw_heatmap(image, match, page.scored)
    data = io.BytesIO()
    picture.save(data, FORMATS[path.suffix.lower()])
    write_atomic(path, data.getvalue())


def draw_heatmap(image: "Image", match: PageMatch, regions: Sequence[tuple[BBox, float | None]]) -> "Image":
    """Paints the map over a copy of a page's image, and its regions in blue with their ranks and scores."""
    from PIL import Image

    picture = image.convert("RGB")
    heat = heat_image(match, picture.size)
    paint = Image.fromarray(_colors(heat))
    # By its square, so that what is lukewarm leaves the page readable.
    opacity = Image.fromarray((heat**2 * (255 * STRONGEST)).astype(np.uint8))
    picture.paste(paint, (0, 0), opacity)
    _outline(picture, regions)
    return picture


def heat_image(match: PageMatch, size: tuple[int, int]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """The map as an image `(height, width)` of 0 to 1: each patch or word filled with its heat, 0 elsewhere.

    Patches that were merged with others have no heat of their own: they take that of the nearest one.
    """
    width, height = size
    out = np.zeros((height, width), np.float32)
    grid = match.grid() if len(match) else None
    match = match if grid is None else match.fine(grid)
    heat = match.heat()
    if grid is not None:
        cells, filled = match.cells(grid), np.full(grid, -1.0, np.float32)
        np.maximum.at(filled, (cells[:, 0], cells[:, 1]), heat)
        for row, column in np.argwhere(filled < 0).tolist():
            nearest = int(((cells - (row, column)) ** 2).sum(axis=1).argmin())
            filled[row, column] = heat[nearest]
        rows = np.minimum(np.arange(height) * grid[0] // height, grid[0] - 1)
        columns = np.minimum(np.arange(width) * grid[1] // width, grid[1] - 1)
        return filled[rows[:, None], columns[None]]
    for value, box in zip(heat.tolist(), match.boxes.tolist(), strict=False):
        x1, y1 = int(box[0] * width), int(box[1] * height)
        part = out[y1 : max(y1 + 1, round(box[3] * height)), x1 : max(x1 + 1, round(box[2] * width))]
        np.maximum(part, value, out=part)
    return out


def _colors(
    heat: np.ndarray[tuple[int, int], np.dtype[np.float32]],
) -> np.ndarray[tuple[int, int, int], np.dtype[np.uint8]]:
    """The heat `(h, w)` as colours `(h, w, 3)`."""
    steps = np.linspace(0, 1, len(COLORS))
    channels = [np.interp(heat, steps, [color[i] for color in COLORS]) for i in range(3)]
    return np.stack(channels, axis=-1).astype(np.uint8)


def _outline(picture: "Image", regions: Sequence[tuple[BBox, float | None]]) -> None:
    """Draws the regions, each with its rank and score on a tag above it, or inside at the page's top."""
    from PIL import ImageDraw, ImageFont

    draw = ImageDraw.Draw(picture)
    width, height = picture.size
    line = max(2, round(min(width, height) / 400))
    font = ImageFont.load_default(max(11, round(min(width, height) / 60)))
    for rank, (box, score) in enumerate(regions, start=1):
        tag = f"{rank}" if score is None else f"{rank}  {score:.2f}"
        x1, y1, x2, y2 = box.x1 * width, box.y1 * height, box.x2 * width, box.y2 * height
        draw.rectangle((x1 - line, y1 - line, x2 + line, y2 + line), outline=BLUE, width=line)
        left, top, right, bottom = draw.textbbox((0, 0), tag, font=font)
        tag_width, tag_height = right - left + 4 * line, bottom - top + 4 * line
        x = min(max(0.0, x1 - line), width - tag_width)
        y = y1 - line - tag_height if y1 - line >= tag_height else y1
        draw.rectangle((x, y, x + tag_width, y + tag_height), fill=BLUE)
        draw.text((x + 2 * line - left, y + 2 * line - top), tag, fill="white", font=font)
