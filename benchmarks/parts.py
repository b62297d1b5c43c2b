"""The development data that the studies run on, by their folders: what is not there is left out, and said so.

DATA holds `mmlongbench/`, `financebench/` and `docscope_style/`, whose PDFs are FinanceBench's.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Part:
    """A benchmark: its name, its folder, and where its documents are if not in it."""

    benchmark: str
    data: Path
    pdfs: Path | None = None


FOLDERS = {
    "mmlongbench-v2": ("mmlongbench", None),
    "mmlongbench-v1": ("mmlongbench", None),
    "financebench": ("financebench", None),
    "docscope": ("docscope_style", "financebench/pdfs"),
}


def parts(data: Path, wanted: Sequence[str] = tuple(FOLDERS)) -> Iterator[Part]:
    """Those of the wanted benchmarks that DATA holds."""
    for benchmark, (folder, pdfs) in FOLDERS.items():
        if benchmark not in wanted:
            continue
        if (data / folder).is_dir():
            yield Part(benchmark, data / folder, None if pdfs is None else data / pdfs)
        else:
            sys.stderr.write(f"{data / folder} is not there: {benchmark} is left out\n")
