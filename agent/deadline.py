"""The seconds that a run has left, for whoever is about to wait, or to try once more what has failed.

A budget never keeps a call from its first try: what has to be asked after the end, such as the answer, is
asked. It only ends the tries that would follow.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_left: ContextVar[Callable[[], float] | None] = ContextVar("seconds_left", default=None)


def seconds_left() -> float:
    """Seconds until the end of what `lasting` says, below 0 after it; infinite where nothing is said."""
    left = _left.get()
    return math.inf if left is None else left()


@contextmanager
def lasting(left: Callable[[], float]) -> Iterator[None]:
    """Lets `seconds_left` say what `left` gives, to the calls inside and to threads with their context."""
    token = _left.set(left)
    try:
        yield
    finally:
        _left.reset(token)
