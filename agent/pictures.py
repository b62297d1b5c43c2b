"""Pictures of an answer: each cited page with its numbered boxes, and one PDF of them with notes."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.trajectory import Trajectory
from indexes.cache import write_atomic
from indexes.plain import plain
from indexes.types import BBox

if TYPE_CHECKING:
    from PIL.Image import Image

    from indexes.document import Document

RED = (200, 24, 24)
DPI = 144  # of a run that does not say


@dataclass(frozen=True, slots=True)
class Mark:
    """A box to draw: the number of its fact, where it is, and what the fact says."""

    number: str
    bbox: BBox
    note: str


def marks_by_page(trajectory: Trajectory) -> dict[int, list[Mark]]:
    """The regions of the facts that the answer shows, by physical page, numbered by fact."""
    marks: dict[int, list[Mark]] = {}
    for fact in trajectory.shown:
        for region in fact.regions:
            lines = (f"{fact.id}: {fact.text}", f"Quote: {fact.quote}", f"Support: {fact.support}")
            note = "\n".join(plain(line, 2000) for line in lines)
            marks.setdefault(region.ref.page, []).append(Mark(fact.id.removeprefix("f"), region.bbox, note))
    return dict(sorted(marks.items()))


def draw_marks(image: "Image", marks: list[Mark]) -> "Image":
    """Draws boxes in red, each with its number at its upper left corner, on a copy of a page image."""
    from PIL import ImageDraw, ImageFont

    picture = image.convert("RGB")
    draw = ImageDraw.Draw(picture)
    width, height = picture.size
    line = max(2, round(min(width, height) / 500))
    font = ImageFont.load_default(max(11, round(min(width, height) / 60)))
    for mark in marks:
        x1, y1 = mark.bbox.x1 * width - line, mark.bbox.y1 * height - line
        draw.rectangle(
            (x1, y1, mark.bbox.x2 * width + line, mark.bbox.y2 * height + line), outline=RED, width=line
        )
        left, top, right, bottom = draw.textbbox((0, 0), mark.number, font=font)
        tag_width, tag_height = right - left + 4 * line, bottom - top + 4 * line
        x, y = max(0.0, x1 - tag_width), max(0.0, y1)
        draw.rectangle((x, y, x + tag_width, y + tag_height), fill=RED)
        draw.text((x + 2 * line - left, y + 2 * line - top), mark.number, fill="white", font=font)
    return picture


def write_pictures(document: "Document", trajectory: Trajectory, folder: Path, stem: str = "") -> list[Path]:
    """Writes `page-0014.png` for each cited page and `answer.pdf`, a marked copy of those pages.

    Args:
        document: the document, open.
        trajectory: the run on it.
        folder: where to write; it exists.
        stem: put before the names, to tell the answers of one folder apart.

    Returns:
        The files written. A page that cannot be rendered has no picture.
    """
    import io

    marks = marks_by_page(trajectory)
    written = []
    for page, boxes in marks.items():
        try:
            image = document.render(page, float(trajectory.config.get("dpi", DPI)))
        except ValueError:  # the page is reported in `document.failed`
            continue
        out = io.BytesIO()
        draw_marks(image, boxes).save(out, format="PNG")
        written.append(folder / f"{stem}page-{page:04d}.png")
        write_atomic(written[-1], out.getvalue())
    if marks:
        written.append(folder / f"{stem}answer.pdf")
        write_atomic(
            written[-1],
            document.marked_copy([_page(trajectory, page, boxes) for page, boxes in marks.items()]),
        )
    return written


def _page(trajectory: Trajectory, page: int, marks: list[Mark]) -> dict[str, Any]:
    label = trajectory.labels.get(page)
    return {
        "page": page,
        "title": plain(f"p. {page} (label {label})" if label else f"p. {page}"),
        "boxes": [{"bbox": mark.bbox.as_list(), "number": mark.number, "note": mark.note} for mark in marks],
    }
