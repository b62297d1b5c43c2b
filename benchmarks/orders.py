"""Sentences that are taken for orders to the reader, in documents that hold none: false alarms and time.

    python benchmarks/orders.py DIR [DIR ...]        # every PDF below, without OCR
    python benchmarks/orders.py DATA | sort          # what was found, a line a page

Every page is sifted as before reading; what is left out is printed with document and page, then how many
pages were looked at and the CPU milliseconds that a page took, its reading not counted.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from agent.sifting import sifted  # noqa: E402
from indexes.document import Document  # noqa: E402
from indexes.errors import InputError, run_command  # noqa: E402
from indexes.plain import plain  # noqa: E402
from indexes.types import Page  # noqa: E402

AT_A_TIME = 16


def main() -> int:
    """Looks at all pages and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="+")
    options = parser.parse_args()
    paths = sorted({path for folder in options.folders for path in folder.rglob("*.pdf")})
    if not paths:
        raise InputError(f"no PDF in {', '.join(map(str, options.folders))}")
    looked, alarms, seconds = 0, 0, 0.0
    for path in paths:
        for page in _pages(path):
            start = time.process_time()
            found = sifted(page)
            seconds += time.process_time() - start
            looked += 1
            if found.words:
                alarms += 1
                sys.stdout.write(
                    f"{path.name}, page {page.ref.page}: {plain(' '.join(found.passages), 300)}\n"
                )
    sys.stdout.write(
        f"{alarms} of {looked} pages in {len(paths)} documents hold words taken for orders; "
        f"{seconds / max(1, looked) * 1000:.1f} ms a page\n"
    )
    return 0


def _pages(path: Path) -> Iterator[Page]:
    try:
        with Document.open(path, ocr=False) as document:
            for first in range(1, len(document) + 1, AT_A_TIME):
                yield from document.pages(range(first, min(first + AT_A_TIME, len(document) + 1)))
    except InputError as error:
        sys.stderr.write(f"{error}; left out\n")


if __name__ == "__main__":
    run_command(main)
