"""Small documents for the tests, made with PyMuPDF."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from indexes.source import mupdf

TEXT = "The quick brown fox jumps over the lazy dog and runs into the dark forest before anyone sees it. "


def new_pdf() -> Any:
    """An empty PyMuPDF document."""
    return mupdf().open()


def save(doc: Any, path: Path, **options: Any) -> Path:
    """Writes the document and returns its path."""
    doc.save(str(path), **options)
    return path


def text_pdf(path: Path, pages: Sequence[str]) -> Path:
    """A PDF with one text a page, at the top left in 11 points."""
    doc = new_pdf()
    for text in pages:
        page = doc.new_page(width=612, height=792)
        page.insert_textbox((72, 72, 540, 700), text, fontsize=11)
    return save(doc, path)


def put_row(page: Any, y: float, cells: dict[float, str], size: float = 9) -> None:
    """Writes each cell by itself, as many filings store a table."""
    for x, text in cells.items():
        page.insert_text((x, y), text, fontsize=size)


def scan_of(page: Any, dpi: int = 130) -> bytes:
    """A page as PNG."""
    data: bytes = page.get_pixmap(dpi=dpi).tobytes("png")
    return data
