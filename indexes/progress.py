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
