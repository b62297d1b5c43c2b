"""Encoders: what turns pages and queries into vectors."""

import difflib
from collections.abc import Callable

from indexes.encoders.protocol import Encoder
from indexes.errors import InputError


def _minilm() -> Encoder:
    from indexes.encoders.minilm import MiniLM

    return MiniLM()


ENCODERS: dict[str, Callable[[], Encoder]] = {"minilm": _minilm}


def load_encoder(name: str) -> Encoder:
    """Loads an encoder by its name.

    Raises:
        InputError: there is no encoder of this name, or its weights are not as expected.
    """
    if name not in ENCODERS:
        close = difflib.get_close_matches(name, ENCODERS, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise InputError(f"encoder {name!r}: unknown; {hint}known are {', '.join(sorted(ENCODERS))}")
    return ENCODERS[name]()
