"""Loads local Qwen vision-language models: which there are, and that their weights are those on disk."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agent.frames import BoxFrame
from indexes.encoders.checkpoints import Checkpoint, find_checkpoint, shapes_of
from indexes.encoders.devices import choose_device
from indexes.encoders.quiet import quiet_libraries
from indexes.encoders.strict import error_line, load_strictly
from indexes.encoders.torchvision_shim import make_torchvision_importable
from indexes.errors import InputError

MERGE = 2  # patches along a token's side, as qwen-vl-utils has it
# What a checkpoint may carry and a model computes or never uses
LEFTOVERS = r"^(model\.)?mtp\.|rotary_emb\.inv_freq$|(^|\.)position_ids$"


@dataclass(frozen=True, slots=True)
class QwenFamily:
    """A family of models: its classes in transformers, and the frame in which it says boxes."""

    model: str
    processor: str
    box_frame: BoxFrame


FAMILIES: Mapping[str, QwenFamily] = {
    "qwen2_vl": QwenFamily("Qwen2VLForConditionalGeneration", "Qwen2VLProcessor", "thousand"),
    "qwen2_5_vl": QwenFamily("Qwen2_5_VLForConditionalGeneration", "Qwen2_5_VLProcessor", "qwen2.5-vl"),
    "qwen3_vl": QwenFamily("Qwen3VLForConditionalGeneration", "Qwen3VLProcessor", "thousand"),
}


@dataclass(frozen=True, slots=True)
class LoadedQwen:
    """A model that is ready to run, with its processor and the device it is on."""

    name: str
    family: QwenFamily
    model: Any
    processor: Any
    device: str

    @property
    def patch(self) -> int:
        """Pixels of a patch's side."""
        return int(self.model.config.vision_config.patch_size)


@functools.cache
def load_weights(name: str, device: str | None) -> LoadedQwen:
    """A model by a folder or a name of the Hugging Face hub, the same one once a process.

    Raises:
        InputError: it cannot be found or read, is no such model, its weights do not fit, or there is no such
            device.
    """
    checkpoint = find_checkpoint(name)
    family = _family(checkpoint)
    where, dtype = choose_device(device)
    make_torchvision_importable()
    import transformers

    with quiet_libraries():
        model = load_strictly(getattr(transformers, family.model), checkpoint, dtype, leftovers=LEFTOVERS)
        processor = _load_processor(checkpoint, getattr(transformers, family.processor))
    _check_head(model, checkpoint)
    if int(model.config.vision_config.spatial_merge_size) != MERGE:
        raise InputError(f"model {name!r}: merges other than {MERGE} x {MERGE} patches into a token")
    try:
        model = model.to(where).eval().requires_grad_(False)
    except (MemoryError, RuntimeError) as error:
        raise InputError(f"model {name!r}: does not fit on {where} ({error_line(error)})") from error
    return LoadedQwen(name, family, model, processor, where)


def _family(checkpoint: Checkpoint) -> QwenFamily:
    kind = str(checkpoint.config.get("model_type", ""))
    if checkpoint.adapter is not None:
        raise InputError(f"model {checkpoint.name!r}: an adapter; merge it into its base and name the result")
    names = [str(name) for name in checkpoint.config.get("architectures") or ()]
    if kind not in FAMILIES or (names and FAMILIES[kind].model not in names):
        known = ", ".join(family.model for family in FAMILIES.values())
        raise InputError(
            f"model {checkpoint.name!r}: {', '.join(names) or kind!r} is none of {known}; for another model "
            "serve it and use the reader chat"
        )
    return FAMILIES[kind]


def _load_processor(checkpoint: Checkpoint, kind: Any) -> Any:
    try:
        processor = kind.from_pretrained(checkpoint.folder, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, TypeError, KeyError, RuntimeError) as error:
        why = error_line(error)
        raise InputError(f"model {checkpoint.name!r}: its processor cannot be loaded ({why})") from error
    if not processor.chat_template:
        raise InputError(f"model {checkpoint.name!r}: {checkpoint.folder} has no chat template")
    return processor


def _check_head(model: Any, checkpoint: Checkpoint) -> None:
    """Compares the layer that chooses words with the file itself, tied to the embedding or not."""
    import torch
    from safetensors import safe_open

    shapes = shapes_of(checkpoint.files)
    own = [name for name in shapes if name.endswith("lm_head.weight")]
    names = own or [name for name in shapes if name.endswith("language_model.embed_tokens.weight")]
    names = names or [name for name in shapes if name.endswith("embed_tokens.weight")]
    if len(names) != 1:
        raise InputError(f"model {checkpoint.name!r}: {len(names)} tensors could be its head, expected one")
    head = model.get_output_embeddings().weight
    for file in checkpoint.files:
        with safe_open(file, "pt") as tensors:
            if names[0] in tensors.keys():  # noqa: SIM118
                loaded = tensors.get_tensor(names[0]).to(head.dtype)
                if not torch.equal(loaded, head.cpu()) or not bool(torch.isfinite(loaded).all()):
                    raise InputError(
                        f"model {checkpoint.name!r}: {names[0]} was not loaded as it is on disk, or holds "
                        "values that are not numbers"
                    )
