"""Builds indexes ahead of time: `python -m indexes.build reports/ paper.pdf`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from indexes.encoders.options import add_encoder_options, encoder_of
from indexes.errors import CommandParser, InputError, one_line, run_command
from indexes.files import IMAGE_SUFFIXES, natural_key

if TYPE_CHECKING:
    from indexes.encoders.protocol import PageEncoder

EXAMPLES = """examples:
  python -m indexes.build annual-report.pdf
  python -m indexes.build reports/ scans/contract-pages/
  python -m indexes.build reports/ --no-ocr --quiet
  python -m indexes.build reports/ --encoder colqwen --model vidore/colqwen2.5-v0.2

What is built is cached under $PAGETRAIL_CACHE (else the user's cache folder) and found by every other
command. An interrupted build goes on where it stopped."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Builds the index of each document named; returns 2 if any could not be."""
    options = _parser().parse_args(arguments)

    documents = [document for name in options.documents for document in documents_in(Path(name))]
    encoder = encoder_of(options)
    failed: list[str] = []
    for number, path in enumerate(documents, start=1):
        if not options.quiet:
            sys.stderr.write(f"[{number}/{len(documents)}] {path}\n")
        try:
            sys.stdout.write(f"{_build(path, encoder, options)}\n")
            sys.stdout.flush()
        except InputError as error:
            failed.append(str(error))
    for message in failed:
        sys.stderr.write(f"error: {one_line(message)}\n")
    if failed and len(documents) > 1:
        sys.stderr.write(f"{len(failed)} of {len(documents)} documents could not be indexed\n")
    return 2 if failed else 0


def documents_in(path: Path) -> list[Path]:
    """The documents that a path stands for: itself, or those in a folder that is none itself.

    A folder of page images is a document; any other holds its PDFs and its folders of page images.

    Raises:
        InputError: it is a folder without any document.
    """
    try:
        if not path.is_dir() or _has_images(path):
            return [path]
        entries = sorted(path.iterdir(), key=lambda entry: natural_key(entry.name))
        found = [e for e in entries if e.suffix.lower() == ".pdf" or (e.is_dir() and _has_images(e))]
    except OSError as error:
        raise InputError(
            f"{error.filename}: cannot be read ({error.strerror}); check its permissions"
        ) from error
    if not found:
        raise InputError(f"{path}: a folder without PDFs and page images; name one that has some")
    return found


def _has_images(folder: Path) -> bool:
    return any(entry.suffix.lower() in IMAGE_SUFFIXES and entry.is_file() for entry in folder.iterdir())


def _build(path: Path, encoder: "PageEncoder", options: argparse.Namespace) -> str:
    from indexes.document import Document
    from indexes.index import PageIndex

    with Document.open(path, password=options.password, ocr=options.ocr, quiet=options.quiet) as document:
        index = PageIndex.open_or_build(document, encoder, quiet=options.quiet)
        size = sum(file["bytes"] for file in index.manifest["files"].values())
        failed = f", {len(document.failed)} pages could not be read" if document.failed else ""
        vectors = index.manifest["counts"]["vectors"]
        pages = len(index.refs)
        return f"{path.name}: {pages} pages, {vectors} vectors, {size / pages / 1000:.0f} KB a page{failed}"


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        "python -m indexes.build",
        "Read documents and build their indexes ahead of time.",
        EXAMPLES,
    )
    parser.add_argument(
        "documents",
        nargs="+",
        metavar="DOC_OR_DIR",
        help="a PDF or folder of page images, or a folder of those",
    )
    parser.add_argument("--password", help="of encrypted PDFs")
    parser.add_argument("--no-ocr", dest="ocr", action="store_false", help="leave pages without text unread")
    parser.add_argument("--quiet", action="store_true", help="no progress bars")
    add_encoder_options(parser)
    return parser


if __name__ == "__main__":
    run_command(main)
