"""LangSmith's tracing, which sends prompts and documents away: off, unless a user asks for it here."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

LEGACY = ("LANGCHAIN_TRACING", "LANGCHAIN_HANDLER")
"""Variables of LangChain's first tracer. It is gone: LangChain refuses to run where one of them is set."""


@contextmanager
def untraced() -> Iterator[None]:
    """Sends nothing to LangSmith, whatever the environment says, unless PAGETRAIL_TRACING asks for it.

    The variables in `LEGACY` are taken out of this process's environment for good: other threads may be in
    the middle of a call when this one ends.
    """
    from langsmith import tracing_context

    for name in LEGACY:
        os.environ.pop(name, None)
    if os.environ.get("PAGETRAIL_TRACING", "").lower() in ("1", "true"):
        yield
    else:
        with tracing_context(enabled=False):
            yield
