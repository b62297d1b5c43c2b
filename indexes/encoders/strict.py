"""Loads the weights of a checkpoint and refuses any that are not exactly those of the model.

A library that finds no weights for a layer fills it with random ones, and there is still a result. So loading
fails, naming the tensors, when any is missing, left over or of another shape.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from indexes.encoders.checkpoints import Checkpoint, listed
from indexes.errors import InputError

Shape = tuple[int, ...]


def load_strictly(
    kind: Any, checkpoint: Checkpoint, dtype: Any, *, leftovers: str, provided: Collection[str] = ()
) -> Any:
    """The model of a merged checkpoint, by a class of transformers.

    Args:
        kind: the class.
        checkpoint: in a local folder.
        dtype: the `torch.dtype` of its weights.
        leftovers: a pattern of names of weights that don't matter, whether they are there or not.
        provided: names of weights that will come from elsewhere.

    Raises:
        InputError: it cannot be read, or its weights do not fit.
    """
    # Some classes are told to say nothing of certain weights: here all are reported, and those that do not
    # matter are listed in one place.
    silent = ("_keys_to_ignore_on_load_missing", "_keys_to_ignore_on_load_unexpected")
    strict: Any = type(kind.__name__, (kind,), {"__module__": kind.__module__, **dict.fromkeys(silent)})
    try:
        model, told = strict.from_pretrained(
            checkpoint.folder,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # they are reported, and refused below
            use_safetensors=True,
            local_files_only=True,
            trust_remote_code=False,
            dtype=dtype,
        )
    except (OSError, ValueError, TypeError, KeyError, RuntimeError, ImportError) as error:
        raise InputError(f"model {checkpoint.name!r}: cannot be loaded ({error_line(error)})") from error
    refuse(
        checkpoint.name,
        missing=_that_matter(told["missing_keys"], leftovers) - set(provided),
        unexpected=_that_matter(told["unexpected_keys"], leftovers),
        mismatched=_mismatched(told["mismatched_keys"]),
        errors=[str(message) for message in told.get("error_msgs", ())],
    )
    return model


def _that_matter(names: Iterable[str], leftovers: str) -> set[str]:
    return {name for name in names if not re.search(leftovers, name)}


def _mismatched(told: Iterable[Any]) -> dict[str, tuple[Shape, Shape]]:
    """The tensors of other shapes: in the file, in the model."""
    return {str(name): (tuple(file), tuple(model)) for name, file, model in told}


def refuse(
    name: str,
    missing: Iterable[str],
    unexpected: Iterable[str],
    mismatched: Mapping[str, tuple[Shape, Shape]],
    errors: Iterable[str] = (),
) -> None:
    """Refuses weights that are not exactly those of the model, naming them.

    Raises:
        InputError: there are any.
    """
    shapes = [f"{key} {list(file)} for {list(model)}" for key, (file, model) in mismatched.items()]
    parts = [
        f"{len(list(names))} {what}: {listed(names)}"
        for what, names in (
            ("missing", list(missing)),
            ("not of this model", list(unexpected)),
            ("of another shape", shapes),
            ("not convertible", list(errors)),
        )
        if names
    ]
    if parts:
        raise InputError(f"model {name!r}: its weights do not fit: {'; '.join(parts)}")


def error_line(error: Exception) -> str:
    """An error in one short line."""
    return " ".join(str(error).split())[:300] or type(error).__name__
