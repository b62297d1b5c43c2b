"""`python -m retrieval.search doc.pdf "query"`: the pages that match, their labels, scores, why and where.

One document, several (`--also`), or a corpus that `python -m indexes.build --out` made (`--corpus`).
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indexes.encoders.options import add_encoder_options, encoder_of, given_settings
from indexes.errors import CommandParser, InputError, one_line, run_command
from indexes.plain import plain

if TYPE_CHECKING:
    from indexes.document import Document
    from indexes.types import BBox, Page, PageRef
    from retrieval.corpus import OpenCorpus
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
  python -m retrieval.search 2022.pdf "net revenue" --also 2021.pdf --also older-reports/
      several documents in one ranking
  python -m retrieval.search report.pdf "net revenue 2023" --heatmap map.png
      also a picture of the best page: the map of similarities, the regions and their scores
  python -m retrieval.search --corpus corpus/ "net revenue of the cable works"
      all documents that python -m indexes.build --out corpus/ has indexed, by the encoder it was built with;
      where a document is not at hand, or with --vectors-only, pages are ranked by their vectors alone

The index is cached under $PAGETRAIL_CACHE (else the user's cache folder): the next search starts at once.
exit codes: 0 done, 2 something you can put right
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; what is wrong with its arguments raises `InputError`."""
    options = _parser().parse_args(arguments)
    if options.k < 1:
        raise InputError(f"-k {options.k}: expected at least 1 page")
    _checked_source(options)
    queries = [_checked(query) for query in options.query]
    if options.queries is not None:
        queries += read_queries(options.queries)
    if not queries:
        raise InputError('no query: name one, such as "net revenue 2023", or a file with --queries')
    if options.heatmap is not None:
        _checked_heatmap(options.heatmap, queries)
    with _opened(options) as opened:
        for query in queries:
            found = opened.retriever.retrieve(query, options.k)
            if options.json:
                line = json.dumps(as_row(query, found, opened.documents))
            else:
                line = as_text(query, found, opened.documents)
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
            if options.heatmap is not None:
                _draw(opened, query, found, options)
    return 0


def _checked_heatmap(path: Path, queries: Sequence[str]) -> None:
    from retrieval.heatmap import check_target

    if len(queries) > 1:
        raise InputError(f"--heatmap draws the map of one query, and there are {len(queries)}; name one")
    check_target(path)


def _draw(
    opened: "OpenCorpus", query: str, found: Sequence["RetrievedPage"], options: argparse.Namespace
) -> None:
    """Draws the best page's map, and says which page it is."""
    from retrieval.heatmap import write_heatmap

    if not found:
        raise InputError(f"--heatmap {options.heatmap}: no page was found, so none is drawn")
    best = found[0]
    document = opened.documents.get(best.ref.doc_id)
    if document is None:
        raise InputError(
            f"--heatmap {options.heatmap}: {best.ref.doc_id} is not at hand, its page can't be drawn"
        )
    write_heatmap(document, best, opened.retriever.match(query, best.ref), options.heatmap)
    if not options.quiet:
        sys.stderr.write(f"written: {options.heatmap} ({best.ref.doc_id}, page {best.ref.page})\n")


@contextmanager
def _opened(options: argparse.Namespace) -> "Iterator[OpenCorpus]":
    """What is searched, and by what."""
    from indexes.documents import open_documents
    from retrieval.corpus import OpenCorpus, open_corpus
    from retrieval.hybrid import open_retriever

    if options.corpus is not None:
        named = {"encoder": options.encoder} if options.encoder else {}
        with open_corpus(
            options.corpus,
            settings={**named, **given_settings(options)},
            words=not options.vectors_only,
            password=options.password,
            quiet=options.quiet,
        ) as corpus:
            if corpus.why and not (options.quiet or options.vectors_only):
                sys.stderr.write(f"note: pages are ranked by their vectors alone: {one_line(corpus.why)}\n")
            yield corpus
        return
    with open_documents(
        [options.document, *options.also],
        password=options.password,
        ocr=not options.no_ocr,
        quiet=options.quiet,
    ) as documents:
        retriever = open_retriever(documents, encoder=encoder_of(options), quiet=options.quiet)
        yield OpenCorpus(retriever, {document.doc_id: document for document in documents})


def _checked_source(options: argparse.Namespace) -> None:
    """Takes the first argument for a query where a corpus is named."""
    if options.corpus is None:
        if options.document is None:
            raise InputError("no document: name one, or a corpus with --corpus")
        if options.vectors_only:
            raise InputError("--vectors-only is for a corpus; name it with --corpus")
        return
    if options.also or options.no_ocr:
        raise InputError(f"--{'also' if options.also else 'no-ocr'} is for documents; --corpus has its own")
    if options.document is not None:
        options.query = [options.document, *options.query]


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        "python -m retrieval.search",
        "Finds the pages of a document, or of many, that match a query, and where on them.",
        EXAMPLES,
    )
    parser.add_argument("document", nargs="?", help="a PDF, a page image or a folder of page images")
    parser.add_argument("query", nargs="*", help="what to look for")
    parser.add_argument(
        "--also", action="append", default=[], metavar="DOC_OR_DIR", help="search this together with it"
    )
    parser.add_argument("--corpus", type=Path, metavar="INDEX", help="search a corpus; all else are queries")
    parser.add_argument("--vectors-only", action="store_true", help="of a corpus: don't rank by words")
    parser.add_argument("-k", type=int, default=10, metavar="N", help="pages a query (default 10)")
    parser.add_argument("--queries", type=Path, metavar="FILE", help="a text file with one query a line")
    parser.add_argument("--heatmap", type=Path, metavar="PNG", help="draw what matched on the best page")
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


def as_row(
    query: str, found: Sequence["RetrievedPage"], documents: Mapping[str, "Document"]
) -> dict[str, Any]:
    """A query's result as the JSON line holds it; a label is null where the document is not at hand."""
    return {
        "query": query,
        "pages": [
            {
                "doc": page.ref.doc_id,
                "page": page.ref.page,
                "label": _label(page.ref, documents),
                "score": round(page.score, 6),
                "regions": [[round(v, 6) for v in box.as_list()] for box in page.regions],
                "region_scores": [s if s is None else round(s, 6) for _, s in page.scored],
            }
            for page in found
        ],
    }


def as_text(query: str, found: Sequence["RetrievedPage"], documents: Mapping[str, "Document"]) -> str:
    """A query's result as a person reads it; pages say their document where there are several."""
    lines = [plain(query)]
    for page in found:
        label = _label(page.ref, documents)
        name = f"p. {page.ref.page}" + (f" (label {plain(label)})" if label else "")
        if len(documents) != 1:
            name = f"{plain(page.ref.doc_id)}  {name}"
        lines.append(
            f"{page.rank:3d}. {name}  score {page.score:.2f}  {plain('; '.join(page.matched))}".rstrip()
        )
        document = documents.get(page.ref.doc_id)
        content = None if document is None else document.page(page.ref.page)
        for box, score in page.scored:
            worth = "" if score is None else f"{score:.2f}  "
            lines.append(f"       {_place(box)}  {worth}{_snippet(content, box)}".rstrip())
    return "\n".join(lines) + "\n"


def _label(ref: "PageRef", documents: Mapping[str, "Document"]) -> str | None:
    document = documents.get(ref.doc_id)
    return None if document is None else document.labels[ref.page - 1]


def _place(box: "BBox") -> str:
    return "[" + ", ".join(f"{v:.3f}" for v in box.as_list()) + "]"


def _snippet(page: "Page | None", box: "BBox") -> str:
    """The first words whose centre lies in the box."""
    if page is None:
        return ""
    x = page.words.boxes[:, 0::2].mean(axis=1)
    y = page.words.boxes[:, 1::2].mean(axis=1)
    inside = (box.x1 <= x) & (x <= box.x2) & (box.y1 <= y) & (y <= box.y2)
    text = " ".join(word for word, there in zip(page.words.texts, inside, strict=True) if there)
    return plain(text, SNIPPET)


if __name__ == "__main__":
    run_command(main)
