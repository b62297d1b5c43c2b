"""LangSmith's tracing, which sends prompts and documents away: off, unless a user asks for it here."""

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def untraced() -> Iterator[None]:
    """Sends nothing to LangSmith, whatever the environment says, unless PAGETRAIL_TRACING asks for it."""
    from langsmith import tracing_context

    if os.environ.get("PAGETRAIL_TRACING", "").lower() in ("1", "true"):
        yield
    else:
        with tracing_context(enabled=False):
            yield
