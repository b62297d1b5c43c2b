"""What the workers of the tests' clusters run: `python -m tests.indexes.cluster_functions MARK`."""

import functools
import json
import os
import signal
import sys
from pathlib import Path

from indexes.cluster import open_pool
from indexes.errors import InputError


def make(number: int) -> int:
    """A worker's state."""
    return number


def work(state: int, item: str) -> list[object]:
    """Fails on `bad`; the item that is a path kills its worker once, `killer` always."""
    if item == "bad":
        raise InputError("a bad item")
    mark = Path(item)
    if item == "killer" or (mark.is_absolute() and not mark.exists()):
        if mark.is_absolute():
            mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return [state, item.rpartition("/")[2], os.environ["PAGETRAIL_CACHE"]]


def main() -> None:
    """Runs the items on a cluster of this machine and writes a JSON line for each outcome."""
    with open_pool("local", functools.partial(make, 7), cores=1) as pool:
        for outcome in pool.map(work, ["a", "bad", sys.argv[1], "b", "killer", "c"]):
            row = [outcome.place, outcome.status, outcome.value, outcome.message]
            sys.stdout.write(f"{json.dumps(row)}\n")


if __name__ == "__main__":
    main()
