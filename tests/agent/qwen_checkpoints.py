"""Tiny random Qwen-VL checkpoints for the tests, each made once a run."""

import atexit
import functools
import shutil
import tempfile
from pathlib import Path

FAMILIES = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl")


@functools.cache
def _home() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="generators-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@functools.cache
def generator(family: str, seed: int = 0) -> Path:
    from eval.random_checkpoint import write_generator

    folder = _home() / f"{family}-{seed}"
    write_generator(folder, family, seed)
    return folder
