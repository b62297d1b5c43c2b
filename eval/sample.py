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

from indexes.cache import write_atomic
from indexes.errors import InputError, run_command

WIDTH, HEIGHT, MARGIN = 595.0, 842.0, 64.0
LABELS = (None, "ii", "iii", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12")
SITES = ("Sula Sound", "Fennick Narrows", "Port Arden", "Grey Skerry", "Loch Varran")
TURBINE_HEADER = ("Turbine", "Site", "Commissioned", "Capacity (kW)", "Generated (MWh)", "Availability")
QUARTERS = (("Q1", 41.2), ("Q2", 36.8), ("Q3", 33.5), ("Q4", 44.9))

INCOME = (
    ("", "2024", "2023"),
    ("Electricity sales", "21,480", "18,905"),
    ("Grid services", "3,215", "2,760"),
    ("Total revenue", "24,695", "21,665"),
    ("Maintenance of turbines", "(6,120)", "(5,842)"),
    ("Salaries and social security", "(7,034)", "(6,611)"),
    ("Depreciation", "(4,390)", "(4,105)"),
    ("Operating profit", "7,151", "5,107"),
    ("Finance costs", "(1,284)", "(1,377)"),
    ("Profit before tax", "5,867", "3,730"),
    ("Income tax", "(1,408)", "(933)"),
    ("Profit for the year", "4,459", "2,797"),
)

LETTER = (
    "Dear shareholders,",
    "The year 2024 was the first in which all five of our sites delivered electricity in every month. "
    "Meridian Tidal Energy generated 156.4 gigawatt hours, 12 percent more than in the year before, and "
    "connected its sixtieth turbine to the grid in November.",
    "We had promised you a dividend once the loan for Port Arden was repaid. It was repaid on 30 "
    "September 2024, eighteen months early, and the board proposes a dividend of 0.35 euros a share.",
    "The storm of 14 January tore the export cable at Grey Skerry. It was out of service for 41 days. "
    "Nobody was hurt. The cable has since been laid in a trench two metres deep.",
    "I thank our 118 employees, whose work in cold water and at odd hours makes all of this possible.",
    "Ingrid Halvorsen, Chair of the Board",
)
OVERVIEW = (
    "Meridian Tidal Energy builds and runs turbines that stand on the sea floor and turn with the tide. "
    "Tides can be foretold for decades, so our electricity can be sold years ahead at a fixed price.",
    "The company was founded in 2009 in Tromso by three engineers of the university. Its head office "
    "moved to Bergen in 2015. It has been listed on the Oslo exchange since May 2018.",
    "Our customers are grid operators and large buyers of power. The largest of them, Nordlys Aluminium, "
    "took 38 percent of our electricity in 2024 under a contract that runs until 2033.",
    "A turbine of the second series has a rotor of 18 metres and weighs 140 tonnes. It is lifted once in "
    "five years for maintenance. A lift takes one tide, a little over six hours, if the weather holds.",
    "Research costs 1.9 million euros a year. Its main subject is a blade coating that keeps mussels "
    "away without copper. A trial at Loch Varran began in March 2024 and will last three years.",
    "Competition comes from offshore wind more than from other tidal companies. Wind is cheaper per "
    "megawatt hour; the tide is reliable. We expect both to be needed.",
)
RISKS = (
    "Export cables: a torn cable takes a whole site off the grid. Repair vessels are few and must be "
    "booked months ahead.",
    "Price: 22 percent of our output is sold at the day-ahead price, which fell below zero on 19 days in "
    "2024.",
    "Permits: the permit for Fennick Narrows ends in 2029. The application for its renewal was filed in "
    "June 2024.",
    "Interest: half of our loans carry a variable rate. One percentage point more costs 310 thousand "
    "euros a year.",
    "Biofouling: mussels and kelp reduce the output of a turbine by up to 9 percent in three years.",
)
CERTIFICATE = (
    "CERTIFICATE OF INSPECTION",
    "",
    "Certificate number: TI-2024-0817",
    "Object inspected: export cable, Grey Skerry",
    "Date of inspection: 26 April 2024",
    "Inspector: Marek Dvorak, Nordic Marine Survey",
    "",
    "The cable was inspected over its whole length of 4.7 kilometres.",
    "The insulation resistance was measured at 512 megaohms.",
    "No damage was found. The cable may be put back into service.",
    "",
    "Next inspection due: April 2027",
)
ENVIRONMENT = (
    "Marine mammals are watched by hydrophones and by two observers at each site. In 2024 no collision was "
    "recorded. Porpoises were heard on 203 days at Loch Varran.",
    "Noise under water stayed below the permitted 120 decibels at 500 metres on all but four days, all "
    "of them days of cable work.",
    "Our own emissions came to 1,860 tonnes of carbon dioxide, nearly all from vessels. The electricity "
    "that we generated avoided about 59,000 tonnes.",
    "Oil in turbines was replaced by a biodegradable fluid at all sites but Port Arden, which follows in "
    "2025.",
)
BOARD = (
    ("Name", "Role", "Member since"),
    ("Ingrid Halvorsen", "Chair", "2016"),
    ("Tomas Reinholt", "Deputy chair", "2018"),
    ("Amina Yusuf", "Audit committee", "2020"),
    ("Pavel Novotny", "Audit committee", "2021"),
    ("Siri Aasen", "Employee representative", "2022"),
)
GLOSSARY = (
    "Availability: the share of hours in which a turbine was ready to run.",
    "Capacity: the electrical power of a turbine at its rated current of 3.1 metres a second.",
    "Day-ahead price: the price at which electricity for the next day is sold at auction.",
    "Slack water: the short time between two tides in which no current flows.",
)


def turbine_rows() -> list[tuple[str, ...]]:
    """The 60 rows of the turbine register, twelve turbines a site."""
    rows: list[tuple[str, ...]] = []
    for i in range(60):
        site = SITES[i // 12]
        capacity = 1000 + 250 * ((i * 7) % 5)
        generated = round(capacity * (1.452 + ((i * 37) % 23) / 40))
        year, availability = str(2012 + (i * 11) // 51), f"{88 + (i * 13) % 11}.{i % 10} %"
        rows.append((f"T-{i + 1:02d}", site, year, f"{capacity:,}", f"{generated:,}", availability))
    return rows


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


OUTLINE = (
    ("Letter from the chair", "iii"),
    ("Highlights of the year", "1"),
    ("Business overview", "2"),
    ("Generation by quarter", "3"),
    ("Turbine register", "4"),
    ("Consolidated statement of income", "7"),
    ("Risks", "8"),
    ("Certificate of inspection", "9"),
    ("Environment", "10"),
    ("Board of directors", "11"),
    ("Glossary", "12"),
)


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
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        raise InputError("expected the path to write to, as in: python -m eval.sample sample.pdf")
    path = Path(sys.argv[1])
    if not path.parent.is_dir():
        raise InputError(f"{path}: its folder does not exist; make it first")
    write_atomic(path, sample_pdf())
    return 0


if __name__ == "__main__":
    run_command(main)
