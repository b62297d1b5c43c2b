"""A copy of some pages with highlights and notes that any PDF reader shows. Runs in a worker process.

Boxes are normalized to the page as seen; PDF annotations live in the page's own frame, before rotation.
"""

from typing import Any

RED = (0.85, 0.1, 0.1)
YELLOW = (1.0, 0.86, 0.35)


def marked_copy(source: Any, pages: list[dict[str, Any]]) -> bytes:
    """Copies pages and marks boxes on them.

    Args:
        source: an open `indexes.source.Source`.
        pages: of each page `page`, `title` (its line in the outline) and `boxes`, each with
            `bbox` (normalized), `number` (drawn beside it) and `note` (what a PDF reader shows for it).

    Returns:
        The PDF's bytes.
    """
    import pymupdf

    copy = pymupdf.open()
    for wanted in pages:
        original = source.page(wanted["page"])
        copy.insert_pdf(original.parent, from_page=original.number, to_page=original.number, annots=True)
        page = copy[-1]
        for box in wanted["boxes"]:
            _mark(page, box)
    copy.set_toc([[1, wanted["title"], i] for i, wanted in enumerate(pages, 1)])
    data: bytes = copy.tobytes(garbage=3, deflate=True, no_new_id=True)
    copy.close()
    return data


def _mark(page: Any, box: dict[str, Any]) -> None:
    """A highlight with the note, and the number at its upper left corner."""
    import pymupdf

    seen = page.rect
    x1, y1, x2, y2 = box["bbox"]
    rect = pymupdf.Rect(x1 * seen.width, y1 * seen.height, x2 * seen.width, y2 * seen.height)
    unrotated = (rect * page.derotation_matrix).normalize()
    highlight = page.add_highlight_annot(unrotated.quad)
    highlight.set_colors(stroke=YELLOW)
    highlight.set_info(title="pagetrail", content=box["note"])
    highlight.update()
    size = 9.0
    tag = pymupdf.Rect(rect.x0 - 1.5 * size, rect.y0, rect.x0 - 2, rect.y0 + 1.4 * size)
    if tag.x0 < 0:
        tag = tag + (-tag.x0, 0, -tag.x0, 0)
    label = page.add_freetext_annot(
        (tag * page.derotation_matrix).normalize(),
        box["number"],
        fontsize=size,
        text_color=RED,
        fill_color=(1, 1, 1),
        align=1,
        rotate=page.rotation,
    )
    label.set_info(title="pagetrail", content=box["number"])
    label.update()
