"""Which device a model runs on, and in which number type."""

import logging
from typing import Any

from indexes.errors import InputError

_log = logging.getLogger(__name__)


def choose_device(asked: str | None) -> tuple[str, Any]:
    """The device to run on and the number type for it: CUDA and MPS in bfloat16, the CPU in float32.

    Args:
        asked: `cuda`, `cuda:1`, `mps` or `cpu`; by default the first of these that is there.

    Returns:
        The device's name and a `torch.dtype`.

    Raises:
        InputError: there is no such device.
    """
    import torch

    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if asked is None:
        kind = next(kind for kind in ("cuda", "mps", "cpu") if there[kind])
        if kind == "cpu":
            _log.warning("no GPU found: the model runs on the CPU in float32, seconds to minutes a page")
        return kind, _number_type(kind)
    kind, _, number = asked.partition(":")
    known = kind in there and (not number or (kind == "cuda" and number.isdecimal()))
    if not known:
        raise InputError(f"device {asked!r}: expected cuda, cuda:NUMBER, mps or cpu")
    if not there[kind] or (number and int(number) >= torch.cuda.device_count()):
        raise InputError(
            f"device {asked!r}: torch {torch.__version__} does not see it; leave it out or say cpu"
        )
    return asked, _number_type(kind)


def _number_type(kind: str) -> Any:
    """bfloat16 where the device computes in it, else float32 and a word about it."""
    import torch

    if kind == "cpu":
        return torch.float32
    if kind == "cuda":
        able = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        able = torch.backends.mps.is_macos_or_newer(14, 0)
    if not able:
        _log.warning("this %s device has no bfloat16: the model runs in float32, in twice the memory", kind)
    return torch.bfloat16 if able else torch.float32
