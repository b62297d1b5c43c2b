"""Calls over a network: a deadline for each, a pace, further tries after what may pass."""

import contextvars
import functools
import queue
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from typing import TypeVar

FIRST_WAIT = 1.0  # seconds before the second try; each further one waits twice as long
LONGEST_WAIT = 60.0  # seconds, by ourselves
LONGEST_OBEYED = 120.0  # seconds that an endpoint's Retry-After may ask for

T = TypeVar("T")

_making = threading.Lock()


class DeadlineError(Exception):
    """The whole reply was not there in time."""


def within(seconds: float, call: Callable[[], T]) -> T:
    """What a call gives, waited for at most so long, whatever it hangs in (a stalled or a trickling reply).

    Raises:
        DeadlineError: it took longer; its thread is left behind and ends with the process at the latest.
    """
    done: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            done.put((context.run(call), None))
        except BaseException as error:
            done.put((None, error))

    threading.Thread(target=work, daemon=True, name="endpoint").start()
    try:
        value, error = done.get(timeout=seconds)
    except queue.Empty:
        raise DeadlineError(f"no whole reply within {seconds:g} s") from None
    if error is not None:
        raise error
    return value  # type: ignore[return-value]


class Gate:
    """Lets a number of calls through at a time, and not more than so many a minute."""

    def __init__(self, at_a_time: int, a_minute: float | None) -> None:
        self._slots = threading.BoundedSemaphore(at_a_time)
        self._between = 60.0 / a_minute if a_minute else 0.0
        self._lock = threading.Lock()
        self._next = 0.0

    @contextmanager
    def passing(self) -> Iterator[None]:
        """Waits for its turn."""
        with self._slots:
            with self._lock:
                now = time.monotonic()
                wait = max(0.0, self._next - now)
                self._next = max(now, self._next) + self._between
            if wait:
                time.sleep(wait)
            yield


def gate(endpoint: str, at_a_time: int, a_minute: float | None) -> Gate:
    """The gate of an endpoint: one for all models that are called there from this process."""
    with _making:  # a cache alone makes several where several threads ask first
        return _gate(endpoint, at_a_time, a_minute)


@functools.cache
def _gate(endpoint: str, at_a_time: int, a_minute: float | None) -> Gate:
    return Gate(at_a_time, a_minute)


def wait_before(attempt: int, asked: float | None) -> float:
    """Seconds to wait before try `attempt + 1` (from 1): doubling, with jitter; at least what was asked.

    What was asked is jittered too, so that calls that were turned away together do not come back together.
    """
    own = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (attempt - 1)) * random.uniform(0.5, 1.0)
    return max(own, min(LONGEST_OBEYED, asked) + random.uniform(0.0, FIRST_WAIT)) if asked else own


def retry_after(value: str | None) -> float | None:
    """Seconds that a `Retry-After` header asks for: a number or a date; None where it says nothing usable."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (TypeError, ValueError, OverflowError):
            return None
    return max(0.0, seconds) if seconds == seconds else None
