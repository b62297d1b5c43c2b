"""Keeps what the model libraries say off a user's screen where it is known and means nothing."""

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

KNOWN: tuple[tuple[str, type[Warning]], ...] = (
    # peft 0.20 asks transformers 5.24 by a name that is about to go
    ("`is_gradient_checkpointing` is deprecated", FutureWarning),
    # the processor of PaliGemma 5.24 makes an array of a tensor
    ("__array__ implementation doesn't accept a copy keyword", DeprecationWarning),
)


@contextlib.contextmanager
def quiet_libraries() -> Iterator[None]:
    """Silences known warnings, and reports and bars of transformers at loading, whose content is checked."""
    from transformers.utils import logging as module

    reports: Any = module
    level, bars = reports.get_verbosity(), reports.is_progress_bar_enabled()
    reports.set_verbosity_error()
    reports.disable_progress_bar()
    with warnings.catch_warnings():
        for message, kind in KNOWN:
            warnings.filterwarnings("ignore", message, kind)
        try:
            yield
        finally:
            reports.set_verbosity(level)
            if bars:
                reports.enable_progress_bar()
