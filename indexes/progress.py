"""Progress bars for the long steps."""

import sys
from typing import Any

from tqdm import tqdm


def bar(total: int, what: str, unit: str, quiet: bool) -> "tqdm[Any]":
    """A progress bar on stderr, such as `reading scans:  40%|####      | 8/20 [00:30<00:45, 3.8s/page]`.

    Args:
        total: steps in all.
        what: what is being done.
        unit: what a step is, singular.
        quiet: show nothing.
    """
    return tqdm(
        total=total,
        desc=what,
        unit=f" {unit}",
        file=sys.stderr,
        disable=quiet,
        leave=False,
        dynamic_ncols=True,
        mininterval=0.3,
    )


def page_bar(pages: int, what: str, quiet: bool) -> "tqdm[Any]":
    """A bar over many documents' pages: `indexing:  40%|####  | 80/200 pages, 3.20 page/s, 00:37 left`.

    Args:
        pages: of all documents.
        what: what is being done.
        quiet: show nothing.
    """
    return tqdm(
        total=pages,
        desc=what,
        unit=" page",
        file=sys.stderr,
        disable=quiet,
        leave=False,
        dynamic_ncols=True,
        mininterval=0.3,
        smoothing=0.05,
        bar_format="{l_bar}{bar}| {n_fmt}/{total_fmt} pages, {rate_noinv_fmt}, {remaining} left",
    )


def skip(progress: "tqdm[Any]", steps: int) -> None:
    """Counts steps that took no time, such as those done by an earlier run: they don't speed up the rate."""
    if not progress.disable:
        progress.initial += steps
        progress.n += steps
        progress.last_print_n += steps
        progress.refresh()
