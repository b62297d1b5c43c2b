"""Pictures of an answer: each cited page with its numbered boxes, and one PDF of them with notes."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.naming import document_names
from agent.trajectory import Trajectory
from indexes.cache import write_atomic
from indexes.plain import plain
from indexes.types import BBox, PageRef

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


def marks_by_page(trajectory: Trajectory) -> dict[PageRef, list[Mark]]:
    """The regions of the facts that the answer shows, by page, numbered by fact; documents in their order."""
    marks: dict[PageRef, list[Mark]] = {}
    for fact in trajectory.shown:
        for region in fact.regions:
            lines = (f"{fact.id}: {fact.text}", f"Quote: {fact.quote}", f"Support: {fact.support}")
            note = "\n".join(plain(line, 2000) for line in lines)
            marks.setdefault(region.ref, []).append(Mark(fact.id.removeprefix("f"), region.bbox, note))
    order = list(trajectory.documents)
    return dict(sorted(marks.items(), key=lambda item: (order.index(item[0].doc_id), item[0].page)))


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


def write_pictures(
    documents: "Sequence[Document]", trajectory: Trajectory, folder: Path, stem: str = ""
) -> list[Path]:
    """Writes `page-0014.png` for each cited page and `answer.pdf`, a marked copy of those pages.

    Of several documents each has its own: `report-page-0014.png`, `report-answer.pdf`.

    Args:
        documents: the run's documents, open.
        trajectory: the run on them.
        folder: where to write; it exists.
        stem: put before the names, to tell the answers of one folder apart.

    Returns:
        The files written. A page that cannot be rendered has no picture.
    """
    names = document_names(trajectory.documents)
    marks = marks_by_page(trajectory)
    written = []
    for document in documents:
        own = {ref: boxes for ref, boxes in marks.items() if ref.doc_id == document.doc_id}
        before = f"{stem}{names[document.doc_id]}-" if trajectory.several else stem
        written += _write_pages(document, trajectory, own, f"{folder}{os.sep}{before}")
    return written


def _write_pages(
    document: "Document", trajectory: Trajectory, marks: Mapping[PageRef, list[Mark]], where: str
) -> list[Path]:
    """The pictures and the marked copy of one document; `where` is put before their names."""
    import io

    written = []
    for ref, boxes in marks.items():
        try:
            image = document.render(ref.page, float(trajectory.config.get("dpi", DPI)))
        except ValueError:  # the page is reported in `document.failed`
            continue
        out = io.BytesIO()
        draw_marks(image, boxes).save(out, format="PNG")
        written.append(Path(f"{where}page-{ref.page:04d}.png"))
        write_atomic(written[-1], out.getvalue())
    if marks:
        written.append(Path(f"{where}answer.pdf"))
        pages = [_page(trajectory, ref, boxes) for ref, boxes in marks.items()]
        write_atomic(written[-1], document.marked_copy(pages))
    return written


def _page(trajectory: Trajectory, ref: PageRef, marks: list[Mark]) -> dict[str, Any]:
    label = trajectory.labels.get(ref)
    return {
        "page": ref.page,
        "title": plain(f"p. {ref.page} (label {label})" if label else f"p. {ref.page}"),
        "boxes": [{"bbox": mark.bbox.as_list(), "number": mark.number, "note": mark.note} for mark in marks],
    }
