"""A sample document of ours: `python -m eval.sample sample.pdf`.

A 15-page annual report of a company that does not exist. It holds what makes real reports hard: front matter
with Roman numbers, so that a printed label never equals its physical page; two columns; a table over three
pages; a chart that is only an image; a scanned page without a text layer; statements in thousands of euros.
The same bytes come out on every machine with the same PyMuPDF and Pillow.
"""

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eval.sample_texts import (
    BOARD,
    CERTIFICATE,
    ENVIRONMENT,
    GLOSSARY,
    INCOME,
    LETTER,
    OUTLINE,
    OVERVIEW,
    QUARTERS,
    RISKS,
    TURBINE_HEADER,
    turbine_rows,
)
from indexes.cache import write_atomic
from indexes.errors import InputError, run_command

WIDTH, HEIGHT, MARGIN = 595.0, 842.0, 64.0
LABELS = (None, "ii", "iii", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12")


class _Writer:
    """Puts text on pages one below the other; `page` is a PyMuPDF page."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.y = MARGIN + 16

    def line(self, text: str, size: float = 10.5, bold: bool = False, x: float = MARGIN) -> None:
        self.page.insert_text((x, self.y), text, fontsize=size, fontname="hebo" if bold else "helv")
        self.y += size * 1.5

    def heading(self, text: str) -> None:
        self.line(text, 17, bold=True)
        self.y += 8

    def paragraphs(self, texts: Sequence[str], x: float = MARGIN, width: float = WIDTH - 2 * MARGIN) -> None:
        for text in texts:
            for line in _wrapped(text, width, 10.5):
                self.line(line, x=x)
            self.y += 8

    def table(
        self, rows: Sequence[Sequence[str]], columns: Sequence[float], rights: Sequence[int] = ()
    ) -> None:
        import pymupdf

        for i, row in enumerate(rows):
            font = "hebo" if i == 0 or row[0].startswith(("Total", "Profit", "Operating profit")) else "helv"
            for j, text in enumerate(row):
                shift = pymupdf.get_text_length(text, fontname=font, fontsize=9.5) if j in rights else 0.0
                self.page.insert_text((columns[j] - shift, self.y), text, fontsize=9.5, fontname=font)
            if i == 0:
                self.page.draw_line((MARGIN, self.y + 4), (WIDTH - MARGIN, self.y + 4), width=0.6)
            self.y += 18


def _wrapped(text: str, width: float, size: float) -> list[str]:
    import pymupdf

    lines, line = [], ""
    for word in text.split():
        longer = f"{line} {word}".strip()
        if pymupdf.get_text_length(longer, fontname="helv", fontsize=size) > width and line:
            lines.append(line)
            longer = word
        line = longer
    return [*lines, line]


def _png(image: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, format="PNG")
    return out.getvalue()


def chart_png() -> bytes:
    """A bar chart of `QUARTERS` as an image: its words exist in pixels only."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGB", (1400, 800), "white")
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(34)
    draw.text((70, 20), "GWh", fill="black", font=font)
    for i, (quarter, value) in enumerate(QUARTERS):
        left, top = 180 + i * 300, 700 - int(value * 12)
        draw.rectangle((left, top, left + 170, 700), fill=(38, 98, 143))
        draw.text((left + 85, top - 26), f"{value}", fill="black", font=font, anchor="mm")
        draw.text((left + 85, 735), quarter, fill="black", font=font, anchor="mm")
    draw.line((130, 700, 1340, 700), fill="black", width=4)
    draw.line((130, 90, 130, 700), fill="black", width=4)
    return _png(image)


def scan_png(label: str) -> bytes:
    """The certificate as a scanner would give it: grey, a little turned, no text layer."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("L", (1240, 1754), 246)
    draw = ImageDraw.Draw(image)
    for i, line in enumerate(CERTIFICATE):
        draw.text((140, 220 + i * 72), line, fill=40, font=ImageFont.load_default(46 if i == 0 else 34))
    draw.rectangle((100, 160, 1140, 1180), outline=90, width=3)
    draw.text((1060, 1660), label, fill=40, font=ImageFont.load_default(30))
    return _png(image.rotate(0.7, fillcolor=246))


def _front_matter(document: Any) -> None:
    cover = _Writer(document.new_page(width=WIDTH, height=HEIGHT))
    cover.y = 300
    cover.line("Meridian Tidal Energy", 30, bold=True)
    cover.line("Annual Report 2024", 22)
    contents = _Writer(document.new_page(width=WIDTH, height=HEIGHT))
    contents.heading("Contents")
    for title, label in OUTLINE:
        contents.page.insert_text((WIDTH - MARGIN - 20, contents.y), label, fontsize=10.5)
        contents.line(title)
    letter = _Writer(document.new_page(width=WIDTH, height=HEIGHT))
    letter.heading("Letter from the chair")
    letter.paragraphs(LETTER)


def _business(document: Any) -> None:
    page = _Writer(document.new_page(width=WIDTH, height=HEIGHT))
    page.heading("Highlights of the year")
    page.paragraphs(
        (
            "Table 1 sums up the year. Each figure is explained on the pages that follow.",
            "Table 1: Key figures",
        )
    )
    page.table(
        (
            ("", "2024", "2023"),
            ("Electricity generated (GWh)", "156.4", "139.6"),
            ("Turbines in service", "60", "54"),
            ("Employees", "118", "109"),
            ("Dividend per share (euros)", "0.35", "0.00"),
        ),
        (MARGIN, 380, 480),
        rights=(1, 2),
    )
    columns = _Writer(document.new_page(width=WIDTH, height=HEIGHT))
    columns.heading("Business overview")
    top, gap = columns.y, 24
    width = (WIDTH - 2 * MARGIN - gap) / 2
    columns.paragraphs(OVERVIEW[:3], width=width)
    columns.y = top
    columns.paragraphs(OVERVIEW[3:], x=MARGIN + width + gap, width=width)
    chart = _Writer(document.new_page(width=WIDTH, height=HEIGHT))
    chart.heading("Generation by quarter")
    chart.paragraphs(
        (
            "Spring tides are strongest around the equinoxes, and the winter storms of the last quarter "
            "add to them. Figure 1 shows the electricity of each quarter.",
        )
    )
    chart.page.insert_image((MARGIN, chart.y, WIDTH - MARGIN, chart.y + 267), stream=chart_png())
    chart.y += 290
    chart.line("Figure 1: Electricity generated in each quarter of 2024, in gigawatt hours", 9.5)


def _register(document: Any) -> None:
    rows = turbine_rows()
    for part in range(3):
        page = _Writer(document.new_page(width=WIDTH, height=HEIGHT))
        if part == 0:
            page.heading("Turbine register")
        continued = " (continued)" if part else ""
        page.line(f"Table 2: Turbines in service at the end of 2024{continued}", bold=True)
        page.y += 6
        chunk = rows[part * 20 : part * 20 + 20]
        page.table([TURBINE_HEADER, *chunk], (MARGIN, 120, 280, 365, 455, 531), rights=(2, 3, 4, 5))


def _rest(document: Any) -> None:
    income = _Writer(document.new_page(width=WIDTH, height=HEIGHT))
    income.heading("Consolidated statement of income")
    income.line("Years ended 31 December, in thousands of euros", 9.5)
    income.y += 8
    income.table(INCOME, (MARGIN, 400, 500), rights=(1, 2))
    risks = _Writer(document.new_page(width=WIDTH, height=HEIGHT))
    risks.heading("Risks")
    risks.paragraphs([f"{i}. {text}" for i, text in enumerate(RISKS, 1)])
    scan = document.new_page(width=WIDTH, height=HEIGHT)
    scan.insert_image(scan.rect, stream=scan_png("9"))
    nature = _Writer(document.new_page(width=WIDTH, height=HEIGHT))
    nature.heading("Environment")
    nature.paragraphs(ENVIRONMENT)
    board = _Writer(document.new_page(width=WIDTH, height=HEIGHT))
    board.heading("Board of directors")
    board.line("Table 3: Members of the board", bold=True)
    board.table(BOARD, (MARGIN, 250, 420))
    glossary = _Writer(document.new_page(width=WIDTH, height=HEIGHT))
    glossary.heading("Glossary")
    glossary.paragraphs(GLOSSARY)


def sample_pdf() -> bytes:
    """Makes the sample document, 15 pages."""
    import pymupdf

    document = pymupdf.open()
    for part in (_front_matter, _business, _register, _rest):
        part(document)
    for page, label in zip(document, LABELS, strict=True):
        if label and label != "9":  # the scanned page prints its own
            page.insert_text((WIDTH - MARGIN - 8, HEIGHT - 36), label, fontsize=9)
            page.insert_text((MARGIN, HEIGHT - 36), "Meridian Tidal Energy | Annual Report 2024", fontsize=8)
    document.set_toc([[1, title, LABELS.index(label) + 1] for title, label in OUTLINE])
    document.set_metadata({"title": "Annual Report 2024", "author": "Meridian Tidal Energy (a sample)"})
    data: bytes = document.tobytes(deflate=True, garbage=3, no_new_id=True)
    document.close()
    return data


def main() -> int:
    """Writes the sample document to the path given."""
    if sys.argv[1:] in (["-h"], ["--help"]):
        sys.stdout.write("usage: python -m eval.sample sample.pdf\n")
        return 0
    if len(sys.argv) != 2 or sys.argv[1].startswith("-") or not sys.argv[1].strip():
        raise InputError("expected the path to write to, as in: python -m eval.sample sample.pdf")
    path = Path(sys.argv[1])
    if not path.parent.is_dir():
        raise InputError(f"{path}: its folder does not exist; make it first")
    write_atomic(path, sample_pdf())
    return 0


if __name__ == "__main__":
    run_command(main)
