"""`python -m retrieval.search doc.pdf "query"`: the pages that match, their labels, scores, why and where."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indexes.encoders.options import add_encoder_options, encoder_of
from indexes.errors import CommandParser, InputError, run_command
from indexes.plain import plain

if TYPE_CHECKING:
    from indexes.document import Document
    from indexes.types import BBox, Page
    from retrieval.types import RetrievedPage

MAX_QUERY = 4000  # characters
SNIPPET = 100  # characters of a region's words that are shown

EXAMPLES = """\
examples:
  python -m retrieval.search report.pdf "net revenue 2023"
      the ten best pages, what matched on each, and where
  python -m retrieval.search report.pdf "Table 4.16" "operating margin" -k 3
      several queries share the index; numbered tables, figures, sections and pages are looked up
  python -m retrieval.search scan-pages/ --queries queries.txt --json --quiet > found.jsonl
      a folder of page images; one query a line; one JSON line a query, nothing else on stdout
  python -m retrieval.search locked.pdf "dividend" --password secret

The index is cached under $PAGETRAIL_CACHE (else the user's cache folder): the next search starts at once.
exit codes: 0 done, 2 something you can put right
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; what is wrong with its arguments raises `InputError`."""
    options = _parser().parse_args(arguments)
    if options.k < 1:
        raise InputError(f"-k {options.k}: expected at least 1 page")
    queries = [_checked(query) for query in options.query]
    if options.queries is not None:
        queries += read_queries(options.queries)
    if not queries:
        raise InputError('no query: name one, such as "net revenue 2023", or a file with --queries')
    from indexes.document import Document
    from retrieval.hybrid import open_retriever

    with Document.open(
        options.document, password=options.password, ocr=not options.no_ocr, quiet=options.quiet
    ) as document:
        retriever = open_retriever(document, encoder=encoder_of(options), quiet=options.quiet)
        for query in queries:
            found = retriever.retrieve(query, options.k)
            if options.json:
                line = json.dumps(as_row(query, found, document.labels))
            else:
                line = as_text(query, found, document)
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        "python -m retrieval.search",
        "Finds the pages of a document that match a query, and where on them.",
        EXAMPLES,
    )
    parser.add_argument("document", help="a PDF, a page image or a folder of page images")
    parser.add_argument("query", nargs="*", help="what to look for")
    parser.add_argument("-k", type=int, default=10, metavar="N", help="pages a query (default 10)")
    parser.add_argument("--queries", type=Path, metavar="FILE", help="a text file with one query a line")
    parser.add_argument("--json", action="store_true", help="JSON lines on stdout")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    parser.add_argument("--password", help="of an encrypted PDF")
    parser.add_argument("--no-ocr", action="store_true", help="leave pages without a text layer unread")
    add_encoder_options(parser)
    return parser


def read_queries(path: Path) -> list[str]:
    """The queries of a file, one a line; blank lines are left out.

    Raises:
        InputError: the file cannot be read, is no UTF-8 text, or holds no query.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is no UTF-8; save the queries as UTF-8 text") from error
    queries = [_checked(line) for line in text.split("\n") if line.strip()]
    if not queries:
        raise InputError(f"{path}: no query in it; write one a line")
    return queries


def _checked(query: str) -> str:
    clean = query.encode("utf-8", "replace").decode("utf-8").replace("\0", " ").strip()
    if not clean:
        raise InputError('the query is empty: say what to look for, such as "net revenue 2023"')
    if len(clean) > MAX_QUERY:
        raise InputError(f"the query has {len(clean)} characters: at most {MAX_QUERY} are taken")
    return clean


def as_row(query: str, found: Sequence["RetrievedPage"], labels: Sequence[str | None]) -> dict[str, Any]:
    """A query's result as the JSON line holds it."""
    return {
        "query": query,
        "pages": [
            {
                "page": page.ref.page,
                "label": labels[page.ref.page - 1],
                "score": round(page.score, 6),
                "regions": [[round(v, 6) for v in box.as_list()] for box in page.regions],
            }
            for page in found
        ],
    }


def as_text(query: str, found: Sequence["RetrievedPage"], document: "Document") -> str:
    """A query's result as a person reads it."""
    lines = [plain(query)]
    for page in found:
        number = page.ref.page
        label = document.labels[number - 1]
        name = f"p. {number}" + (f" (label {plain(label)})" if label else "")
        lines.append(
            f"{page.rank:3d}. {name}  score {page.score:.2f}  {plain('; '.join(page.matched))}".rstrip()
        )
        content = document.page(number)
        lines.extend(f"       {_place(box)}  {_snippet(content, box)}".rstrip() for box in page.regions)
    return "\n".join(lines) + "\n"


def _place(box: "BBox") -> str:
    return "[" + ", ".join(f"{v:.3f}" for v in box.as_list()) + "]"


def _snippet(page: "Page", box: "BBox") -> str:
    """The first words whose centre lies in the box."""
    x = page.words.boxes[:, 0::2].mean(axis=1)
    y = page.words.boxes[:, 1::2].mean(axis=1)
    inside = (box.x1 <= x) & (x <= box.x2) & (box.y1 <= y) & (y <= box.y2)
    text = " ".join(word for word, there in zip(page.words.texts, inside, strict=True) if there)
    return plain(text, SNIPPET)


if __name__ == "__main__":
    run_command(main)
