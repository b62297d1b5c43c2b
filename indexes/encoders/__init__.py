"""Encoders: what turns pages and queries into vectors."""

import difflib
from collections.abc import Callable
from typing import Any

from indexes.encoders.protocol import PageEncoder
from indexes.errors import InputError


def _minilm(**settings: Any) -> PageEncoder:
    from indexes.encoders.minilm import MiniLM

    if settings:
        raise InputError(f"encoder 'minilm' has no {', '.join(sorted(settings))}; did you mean colqwen?")
    return MiniLM()


def _colqwen(
    model: str | None = None, base: str | None = None, device: str | None = None, **shown: Any
) -> PageEncoder:
    if model is None:
        raise InputError(
            "encoder 'colqwen' needs a model: a folder, or a name such as vidore/colqwen2.5-v0.2"
        )
    from indexes.encoders.colqwen import ColQwenSettings, load_colqwen

    return load_colqwen(model, base=base, device=device, settings=ColQwenSettings(**shown))


ENCODERS: dict[str, Callable[..., PageEncoder]] = {"colqwen": _colqwen, "minilm": _minilm}


def load_encoder(name: str, **settings: Any) -> PageEncoder:
    """Loads an encoder by its name.

    Args:
        name: a key of `ENCODERS`.
        settings: of `colqwen`: `model`, `base`, `device`, `max_num_visual_tokens`, `batch_size`, `dpi`,
            `pool_factor`.

    Raises:
        InputError: there is no encoder of this name, it has no such setting, its model is not there, or its
            weights are not as expected.
    """
    if name not in ENCODERS:
        close = difflib.get_close_matches(name, ENCODERS, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise InputError(f"encoder {name!r}: unknown; {hint}known are {', '.join(sorted(ENCODERS))}")
    return ENCODERS[name](**settings)
