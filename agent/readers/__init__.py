"""Readers by name. A reader is made from the encoder of the retriever, or None where there is none."""

from collections.abc import Callable

from agent.types import Reader
from indexes.encoders.protocol import Encoder
from indexes.errors import InputError


def _extractive(encoder: Encoder | None) -> Reader:
    from agent.readers.extractive import ExtractiveReader

    return ExtractiveReader(encoder)


READERS: dict[str, Callable[[Encoder | None], Reader]] = {"extractive": _extractive}


def load_reader(name: str, encoder: Encoder | None = None) -> Reader:
    """Makes the reader of a name.

    Raises:
        InputError: there is no reader of that name.
    """
    if name not in READERS:
        raise InputError(
            f"reader {name!r}: there is none of that name; there are {', '.join(sorted(READERS))}"
        )
    return READERS[name](encoder)
