"""One search in a process of its own, to see what memory it takes.

    python benchmarks/search_once.py INDEX_FOLDER [INDEX_FOLDER ...] [--ivf FOLDER] [--torch]

Prints the most memory that the process has held, and the most before it opened anything, in bytes.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from synthetic import query_of

from indexes.errors import run_command
from indexes.index import PageIndex
from indexes.ivf import Ivf
from indexes.joined import JoinedIndex


def main() -> int:
    """Opens the indexes, searches once, prints two numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--ivf", type=Path)
    parser.add_argument("--torch", action="store_true", help="with PyTorch loaded, as by an encoder")
    options = parser.parse_args()
    import faiss  # noqa: F401  its code is no part of a search

    if options.torch:
        import torch

        torch.zeros((64, 64), dtype=torch.bfloat16) @ torch.zeros((64, 64), dtype=torch.bfloat16)

    query = query_of(0)
    before = _peak()
    joined = JoinedIndex([PageIndex.open(folder, checksums=False) for folder in options.folders])
    if options.ivf:
        joined.ivf = Ivf.open(options.ivf, joined, checksums=False)
    joined.search(query, 10, "ivf" if options.ivf else "exact")
    sys.stdout.write(f"{_peak()} {before}\n")
    return 0


def memory_of_search(
    folders: Sequence[Path], ivf: Path | None = None, *, torch: bool = False
) -> tuple[int, int]:
    """Peak memory in bytes of a process that searches once, and its peak before it opened anything."""
    command = [sys.executable, __file__, *map(str, folders), *(["--ivf", str(ivf)] if ivf else [])]
    command += ["--torch"] if torch else []
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    peak, before = (int(word) for word in result.stdout.split())
    return peak, before


def _peak() -> int:
    # getrusage would also count the process that this one was forked from
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


if __name__ == "__main__":
    run_command(main)
