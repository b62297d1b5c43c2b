"""`python -m agent.ground doc.pdf --facts facts.jsonl`: grounds anyone's facts on the pages they are said of.

from agent.ground import GivenFact, ground_facts
rows = ground_facts("doc.pdf", [GivenFact(48, "Net sales $ 34,229")])
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.frames import FRAMES, BoxFrame, to_bbox
from indexes.errors import CommandParser, InputError, run_command
from indexes.plain import plain
from indexes.types import BBox

if TYPE_CHECKING:
    from agent.grounding import Grounded
    from indexes.document import Document

CHUNK = 32  # pages that are kept at a time

EXAMPLES = """\
examples:
  python -m agent.ground report.pdf --facts facts.jsonl
      each fact with its regions and how the page bears it out
  python -m agent.ground report.pdf --facts facts.jsonl --json > grounded.jsonl
      a line a fact: {"page": 48, "regions": [[x1, y1, x2, y2], ...], "support": "exact"}
  other-system --facts | python -m agent.ground report.pdf --facts - --json --frame thousand
      facts from standard input, with boxes in 0 to 1000 as some models say them

A fact is a line of JSON: {"page": 48, "text": "Net sales were $34,229 million"}, if there are any with
"quote" (the page's own words), "bbox" (four numbers, in --frame), "image_size" (width and height in pixels,
for a frame in pixels) and "blocks" (numbers of layout blocks). Pages count from 1; regions are normalized to
0..1 from the top left. "support" is exact, approximate, visual or none; "notes" say what is wrong.
exit codes: 0 done, 2 something you can put right
"""


@dataclass(frozen=True, slots=True)
class GivenFact:
    """A fact of anyone's: the physical page it is said of, its text, and what it points at.

    Attributes:
        page: the 1-based physical page.
        text: the statement.
        quote: the page's own words, if they were given.
        bbox: a box on the page.
        blocks: `order`s of layout blocks.
        notes: what was wrong with it as it was given.
        source: where it was given, such as a file's line.
    """

    page: int
    text: str
    quote: str = ""
    bbox: BBox | None = None
    blocks: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    source: str = ""


def ground_facts(
    source: "str | os.PathLike[str] | Document",
    facts: Sequence[GivenFact],
    *,
    password: str | None = None,
    ocr: bool = True,
    quiet: bool = True,
) -> list["Grounded"]:
    """Grounds facts on the pages they are said of, in their order.

    Args:
        source: a PDF, a page image or a folder of page images, or such a document opened.
        facts: the facts.
        password: of an encrypted PDF.
        ocr: whether pages without a text layer are read.
        quiet: no progress on stderr.

    Raises:
        InputError: the document cannot be opened, or a fact names a page that it does not have.
    """
    from indexes.document import Document

    if isinstance(source, Document):
        return list(_grounded(source, facts))
    with Document.open(source, password=password, ocr=ocr, quiet=quiet) as document:
        return list(_grounded(document, facts))


def _grounded(document: "Document", facts: Sequence[GivenFact]) -> Iterator["Grounded"]:
    for number, fact in enumerate(facts, start=1):
        _check_page(document, fact, fact.source or f"fact {number}")
    first = 0
    while first < len(facts):
        last, pages = first, set[int]()
        while last < len(facts) and len(pages | {facts[last].page}) <= CHUNK:
            pages.add(facts[last].page)
            last += 1
        yield from _on_pages(document, facts[first:last], sorted(pages))
        first = last


def _check_page(document: "Document", fact: GivenFact, where: str) -> None:
    if not 1 <= fact.page <= len(document):
        raise InputError(f"{where}: page {fact.page}: {document.doc_id} has {len(document)} pages, from 1")


def _on_pages(
    document: "Document", facts: Sequence[GivenFact], numbers: Sequence[int]
) -> Iterator["Grounded"]:
    from dataclasses import replace

    from agent.grounding import locate
    from agent.matching import PageText
    from agent.types import FactDraft
    from indexes.types import PageRef

    pages = {number: PageText(page) for number, page in document.layout(numbers).items()}
    for fact in facts:
        ref = PageRef(document.doc_id, fact.page)
        draft = FactDraft(ref, fact.text, fact.quote, 1.0, blocks=fact.blocks, bbox=fact.bbox)
        found = locate(draft, pages[fact.page])
        why = document.failed.get(fact.page)
        unread = () if why is None else (f"page {fact.page} could not be read: {plain(str(why), 200)}",)
        yield replace(found, notes=(*fact.notes, *unread, *found.notes))


def read_facts(source: str, frame: BoxFrame = "normalized") -> list[GivenFact]:
    """The facts of a file of JSON lines; blank lines are left out.

    Args:
        source: a path, or `-` for standard input.
        frame: what the numbers of its boxes mean.

    Raises:
        InputError: the file cannot be read, a line is no fact, or there is none.
    """
    name = "standard input" if source == "-" else source
    try:
        data = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
    except OSError as error:
        raise InputError(f"{name}: cannot be read ({error.strerror or error})") from error
    facts = []
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if line.strip():
            facts.append(_fact(line, f"{name}, line {number}", frame))
    if not facts:
        raise InputError(f'{name}: no fact in it; write one a line, such as {{"page": 1, "text": "..."}}')
    return facts


def _fact(line: bytes, where: str, frame: BoxFrame) -> GivenFact:
    try:
        row = json.loads(line)
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: byte {error.start} is no UTF-8; save the facts as UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: no JSON ({error})") from error
    if not isinstance(row, dict):
        raise InputError(f"{where}: expected an object with page and text, got {type(row).__name__}")
    page = row.get("page")
    if isinstance(page, bool) or not isinstance(page, int) or page < 1:
        raise InputError(f"{where}: page {_shown(page)}: expected a whole number from 1")
    text, quote = row.get("text"), row.get("quote")
    if not isinstance(text, str) or not plain(text):
        raise InputError(f"{where}: text {_shown(text)}: expected what the page is said to say")
    if quote is not None and not isinstance(quote, str):
        raise InputError(f"{where}: quote {_shown(quote)}: expected a text")
    blocks = row.get("blocks")
    blocks = [] if blocks is None else blocks
    if not isinstance(blocks, list) or any(isinstance(b, bool) or not isinstance(b, int) for b in blocks):
        raise InputError(f"{where}: blocks {_shown(blocks)}: expected a list of whole numbers")
    bbox, notes = _bbox(row, where, frame)
    return GivenFact(page, text, quote or "", bbox, tuple(blocks), notes, where)


def _bbox(row: dict[str, Any], where: str, frame: BoxFrame) -> tuple[BBox | None, tuple[str, ...]]:
    """A fact's box, and what is wrong with it where nothing of it is on the page."""
    values = row.get("bbox")
    if values is None:
        return None, ()
    size = _size(row.get("image_size"))
    if frame in ("pixels", "qwen2.5-vl") and size is None:
        given = _shown(row.get("image_size"))
        raise InputError(f"{where}: image_size {given}: a box in pixels needs the image's [width, height]")
    try:
        box = to_bbox(values, frame, size or (1.0, 1.0))
    except ValueError as error:
        raise InputError(f"{where}: {error}") from error
    return box, () if box is not None else (f"nothing of its box {_shown(values)} is on the page",)


def _size(given: object) -> tuple[float, float] | None:
    """A width and a height, None where they are none."""
    if not isinstance(given, list) or len(given) != 2:
        return None
    if any(isinstance(v, bool) or not isinstance(v, int | float) for v in given):
        return None
    try:
        return float(given[0]), float(given[1])
    except OverflowError:
        return None


def _shown(value: object) -> str:
    return plain(repr(value), 60)


def as_row(found: "Grounded") -> dict[str, Any]:
    """A grounded fact as the JSON line holds it."""
    row: dict[str, Any] = {
        "page": found.draft.ref.page,
        "regions": [region.bbox.as_list() for region in found.regions],
        "support": found.support,
    }
    return row | ({"notes": list(found.notes)} if found.notes else {})


def as_text(found: "Grounded") -> str:
    """A grounded fact as a person reads it."""
    lines = [f"p. {found.draft.ref.page}  {found.support}  {plain(found.text, 160)}"]
    for region in found.regions:
        lines.append("    [" + ", ".join(f"{v:.3f}" for v in region.bbox.as_list()) + "]")
    lines += [f"    note: {plain(note, 200)}" for note in found.notes]
    return "\n".join(lines)


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        "python -m agent.ground",
        "Finds where on its page each fact stands, and says how the page bears it out.",
        EXAMPLES,
    )
    parser.add_argument("document", help="a PDF, a page image or a folder of page images")
    parser.add_argument("--facts", required=True, metavar="FILE", help="JSON lines; - for standard input")
    parser.add_argument("--json", action="store_true", help="JSON lines on stdout")
    parser.add_argument(
        "--frame",
        choices=FRAMES,
        default="normalized",
        metavar="FRAME",
        help=f"what the numbers of a bbox mean: {', '.join(FRAMES)} (default: normalized)",
    )
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    parser.add_argument("--password", help="of an encrypted PDF")
    parser.add_argument("--no-ocr", action="store_true", help="leave pages without a text layer unread")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; what is wrong with its arguments or facts raises `InputError` before it writes."""
    options = _parser().parse_args(arguments)
    facts = read_facts(options.facts, options.frame)
    from indexes.document import Document

    with Document.open(
        options.document, password=options.password, ocr=not options.no_ocr, quiet=options.quiet
    ) as document:
        for found in _grounded(document, facts):
            line = json.dumps(as_row(found)) if options.json else as_text(found)
            sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    run_command(main)
