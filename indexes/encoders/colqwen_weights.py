"""Loads a late-interaction model and refuses weights that are not exactly those of its checkpoint.

A library that finds no weights for a layer fills it with random ones, and a page still gets a score. So
loading fails, naming the tensors, when any is missing, left over or of another shape.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from indexes.encoders.checkpoints import (
    Checkpoint,
    digest_of,
    find_base,
    find_checkpoint,
    shapes_of,
)
from indexes.encoders.colqwen_models import LEFTOVERS, Family, family_of, import_colpali
from indexes.encoders.devices import choose_device
from indexes.encoders.quiet import quiet_libraries
from indexes.encoders.strict import Shape, error_line, load_strictly, refuse
from indexes.errors import InputError

PEFT_PREFIX = "base_model.model."


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model that is ready to run.

    Attributes:
        name: the checkpoint, as it was asked for.
        dim: of its vectors.
        digest: of the checkpoint; the device and the number type do not enter.
    """

    name: str
    family: Family
    model: Any
    processor: Any
    dim: int
    digest: str
    device: str


def load_model(name: str, *, base: str | None = None, device: str | None = None) -> Loaded:
    """Loads a checkpoint of colpali-engine, merged or a LoRA adapter over its base.

    Args:
        name: a folder, or a model of the Hugging Face hub.
        base: of an adapter, the folder of its base if it does not lie where the adapter says, nor beside it.
        device: `cuda`, `cuda:1`, `mps` or `cpu`; the best one by default.

    Raises:
        InputError: the checkpoint cannot be found or read, or its weights do not fit.
    """
    checkpoint = find_checkpoint(name)
    under = checkpoint if checkpoint.adapter is None else find_base(checkpoint, base)
    if base is not None and checkpoint.adapter is None:
        raise InputError(f"model {name!r}: a merged checkpoint has no base; leave out {base!r}")
    family = family_of(under.config, f"model {under.name!r}")
    where, dtype = choose_device(device)
    adapter = None if checkpoint is under else _adapter_tensors(checkpoint)
    provided = set() if adapter is None else {renamed(key, family) for key in adapter if "lora_" not in key}
    with quiet_libraries():
        model = _load_merged(under, family, dtype, provided)
        if adapter is not None:
            _add_adapter(model, checkpoint, family, adapter)
        processor = _load_processor(checkpoint, under, family)
    try:
        model = model.to(where).eval().requires_grad_(False)
    except (MemoryError, RuntimeError) as error:
        raise InputError(f"model {name!r}: does not fit on {where} ({str(error).splitlines()[0]})") from error
    digest = digest_of([checkpoint] if checkpoint is under else [checkpoint, under])
    return Loaded(name, family, model, processor, int(model.dim), digest, where)


def _load_merged(checkpoint: Checkpoint, family: Family, dtype: Any, provided: set[str]) -> Any:
    """The model of a merged checkpoint; `provided` are weights that an adapter brings along whole."""
    shapes = shapes_of(checkpoint.files)
    kind = getattr(import_colpali(), family.model)
    model = load_strictly(kind, checkpoint, dtype, leftovers=LEFTOVERS, provided=provided)
    _check_projection(model, checkpoint, family, shapes, provided)
    return _without_head(model)


def _without_head(model: Any) -> Any:
    """Takes the head that predicts words off where a class has one: it may be random, and costs memory."""
    import torch

    inner: Any = getattr(model, "model", None)
    if hasattr(inner, "lm_head"):
        inner.lm_head = torch.nn.Identity()
    return model


def _check_projection(
    model: Any, checkpoint: Checkpoint, family: Family, shapes: Mapping[str, Shape], provided: set[str]
) -> None:
    """Compares the projection with the file itself: it is the layer that libraries have lost before."""
    import torch
    from safetensors import safe_open

    layer = getattr(model, family.projection)
    for part, values in layer.named_parameters():
        tail = f"{family.projection}.{part}"
        names = [name for name in shapes if name == tail or name.endswith(f".{tail}")]
        if tail in provided and not names:
            continue
        if len(names) != 1:
            raise InputError(
                f"model {checkpoint.name!r}: {len(names)} tensors are called {tail}, expected one"
            )
        if not torch.isfinite(values).all():
            raise InputError(f"model {checkpoint.name!r}: {names[0]} holds values that are not numbers")
        for file in checkpoint.files:
            with safe_open(file, "pt") as tensors:
                there = names[0] in tensors.keys()  # noqa: SIM118
                if there and not torch.equal(tensors.get_tensor(names[0]).to(values.dtype), values.cpu()):
                    raise InputError(f"model {checkpoint.name!r}: {names[0]} was not loaded as it is on disk")


def _adapter_tensors(adapter: Checkpoint) -> dict[str, Any]:
    """The tensors of an adapter, by their names in the file."""
    from safetensors.torch import load_file

    kind = str((adapter.adapter or {}).get("peft_type"))
    if kind.upper() != "LORA":
        raise InputError(f"model {adapter.name!r}: an adapter of kind {kind}, expected LORA")
    shapes_of(adapter.files)
    return load_file(adapter.files[0])


def _add_adapter(model: Any, adapter: Checkpoint, family: Family, tensors: Mapping[str, Any]) -> None:
    """Puts an adapter's weights beside those of its base; they are not merged, which would round them."""
    import torch
    from peft import LoraConfig, inject_adapter_in_model

    try:
        config = LoraConfig.from_pretrained(str(adapter.folder))
        inject_adapter_in_model(config, model)
    except (ValueError, TypeError, KeyError, RuntimeError) as error:
        raise InputError(
            f"model {adapter.name!r}: an adapter that its base cannot take ({error_line(error)})"
        ) from error
    places = {_plain(name): values for name, values in model.named_parameters()}
    wanted = {_plain(name) for name, _ in model.named_parameters() if _of_adapter(name)}
    given = {_plain(renamed(name, family)): values for name, values in tensors.items()}
    shared = given.keys() & places.keys()
    shapes = {key: (tuple(given[key].shape), tuple(places[key].shape)) for key in shared}
    refuse(
        adapter.name,
        missing=wanted - given.keys(),
        unexpected=given.keys() - places.keys(),
        mismatched={key: pair for key, pair in shapes.items() if pair[0] != pair[1]},
    )
    with torch.no_grad():
        for key in shared:
            places[key].copy_(given[key])


def _of_adapter(name: str) -> bool:
    return ".lora_" in name or ".modules_to_save." in name


def _plain(name: str) -> str:
    """The name of a weight without what peft writes into it: the same in a model and in an adapter's file."""
    name = name.replace(".modules_to_save.default", "").replace(".base_layer", "").replace(".default", "")
    return name.removesuffix(".weight") if ".lora_" in name else name


def renamed(name: str, family: Family) -> str:
    """The name in today's model of a weight in an adapter's file, which may use those of an earlier one."""
    name = name.removeprefix(PEFT_PREFIX)
    kind = getattr(import_colpali(), family.model)
    for pattern, target in getattr(kind, "_checkpoint_conversion_mapping", {}).items():
        new, times = re.subn(pattern, target, name)
        if times:
            return new
    return name


def _load_processor(checkpoint: Checkpoint, base: Checkpoint, family: Family) -> Any:
    """The processor, which adapters usually carry and may leave to their base."""
    own = any((checkpoint.folder / name).is_file() for name in ("tokenizer.json", "tokenizer_config.json"))
    source = checkpoint if own else base
    kind = getattr(import_colpali(), family.processor)
    try:
        return kind.from_pretrained(source.folder, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, TypeError, KeyError, RuntimeError) as error:
        raise InputError(
            f"model {source.name!r}: its processor cannot be loaded ({error_line(error)})"
        ) from error
