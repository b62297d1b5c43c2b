"""Lets a CPU build of torch live with a CUDA build of torchvision, which pip happily installs together.

Such a torchvision cannot load its compiled operators and then fails at import, because it registers fake
versions of two of them that torch has never heard of. Nothing here calls those two: declaring them is enough.
"""

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

OPERATORS = ("nms", "qnms")
SIGNATURE = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"

_declared: list[Any] = []  # torch forgets an operator with the object that declared it


def make_torchvision_importable() -> bool:
    """Declares the missing operators where they will be missed; to be called before torchvision is imported.

    Returns:
        Whether they had to be declared.
    """
    import torch

    if _declared or torch.version.cuda is not None or "+cu" not in torchvision_version():
        return bool(_declared)
    make: Any = torch.library.Library
    library = make("torchvision", "DEF")
    for operator in OPERATORS:
        if not hasattr(torch.ops.torchvision, operator):
            library.define(operator + SIGNATURE)
    _declared.append(library)
    return True


def torchvision_version() -> str:
    """The installed torchvision's version with its build, `0.28.0+cu130`, read without importing it."""
    spec = find_spec("torchvision")
    if spec is None or not spec.submodule_search_locations:
        return ""
    file = Path(spec.submodule_search_locations[0]) / "version.py"
    found = re.search(
        r"""__version__ = ['"]([^'"]+)""", file.read_text(encoding="utf-8") if file.is_file() else ""
    )
    return found[1] if found else ""
