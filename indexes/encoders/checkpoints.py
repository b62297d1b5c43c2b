"""Checkpoints on disk: where a model lies, whether its files are whole, and which weights they hold.

Only safetensors are read (pickled weights can run code), only local files are opened, and no code that comes
with a checkpoint is ever run.
"""

import hashlib
import json
import logging
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from indexes.errors import InputError

WEIGHTS = "model.safetensors"
ADAPTER_WEIGHTS = "adapter_model.safetensors"
ADAPTER_CONFIG = "adapter_config.json"
FETCHED = ["*.json", "*.safetensors", "*.txt", "*.model", "*.jinja"]
SAMPLE = 2048  # bytes of each end of each tensor that tell a checkpoint from another
# What a configuration says about its history, not about the model
HISTORY = ("_name_or_path", "base_model_name_or_path", "peft_version", "revision", "transformers_version")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint in a local folder.

    Attributes:
        name: as it was asked for.
        config: `config.json`, empty for an adapter without one.
        adapter: `adapter_config.json`, None for a merged checkpoint.
    """

    name: str
    folder: Path
    config: Mapping[str, Any]
    adapter: Mapping[str, Any] | None

    @property
    def files(self) -> list[Path]:
        """The files with its weights, all of them there.

        Raises:
            InputError: a file is missing, or the weights are not in safetensors.
        """
        return _weight_files(self)


def find_checkpoint(name: str) -> Checkpoint:
    """Finds a checkpoint: a folder, else a model of the local Hugging Face cache, else of the hub.

    The hub is asked only where `HF_HUB_OFFLINE` is not set.

    Raises:
        InputError: it is nowhere, or its configuration cannot be read.
    """
    folder = Path(name).expanduser()
    if not folder.is_dir():
        if name.startswith((".", "~", os.sep)) or name.count("/") != 1:
            raise InputError(f"model {name!r}: there is no such folder, and it is no OWNER/NAME of the hub")
        folder = _from_cache(name)
    adapter = _read_json(folder / ADAPTER_CONFIG, name)
    config = _read_json(folder / "config.json", name)
    if adapter is None and config is None:
        raise InputError(f"model {name!r}: {folder} has neither config.json nor {ADAPTER_CONFIG}")
    return Checkpoint(name, folder, config or {}, adapter)


def find_base(adapter: Checkpoint, base: str | None) -> Checkpoint:
    """Finds the checkpoint that an adapter was trained over.

    Args:
        adapter: an adapter.
        base: where the base lies, if not under the name by which the adapter calls it; its last part must be
            the same, because weights do not tell what was trained over them.

    Raises:
        InputError: the base is nowhere, is another one, or is an adapter itself.
    """
    named = str((adapter.adapter or {}).get("base_model_name_or_path") or "")
    if not named:
        raise InputError(f"model {adapter.name!r}: an adapter whose {ADAPTER_CONFIG} names no base model")
    if base is not None and _last(base) != _last(named):
        raise InputError(
            f"model {adapter.name!r}: an adapter over {named!r}, not over {base!r}; "
            f"give the folder of its base, named {_last(named)}"
        )
    beside = adapter.folder.parent / _last(named)
    if base is None and not Path(named).is_dir() and beside.is_dir():
        base = str(beside)
    try:
        found = find_checkpoint(base or named)
    except InputError as error:
        raise InputError(f"model {adapter.name!r} is an adapter and needs its base: {error}") from error
    if found.adapter is not None:
        raise InputError(f"model {adapter.name!r}: its base {found.name!r} is an adapter itself; merge them")
    return found


def shapes_of(files: Iterable[Path]) -> dict[str, tuple[int, ...]]:
    """The names and shapes of all tensors in safetensors files.

    Raises:
        InputError: a file is damaged or no safetensors.
    """
    from safetensors import SafetensorError, safe_open

    shapes: dict[str, tuple[int, ...]] = {}
    for file in files:
        try:
            with safe_open(file, "numpy") as tensors:
                for name in tensors.keys():  # noqa: SIM118
                    shapes[name] = tuple(tensors.get_slice(name).get_shape())
        except (SafetensorError, OSError) as error:
            raise InputError(f"{file}: damaged or no safetensors ({error}); fetch it again") from error
    return shapes


def digest_of(checkpoints: Iterable[Checkpoint]) -> str:
    """A digest of what checkpoints compute: configurations, tensor names and shapes, ends of each tensor."""
    sha = hashlib.sha256()
    for checkpoint in checkpoints:
        for name in ("config.json", ADAPTER_CONFIG, "preprocessor_config.json", "processor_config.json"):
            told = _read_json(checkpoint.folder / name, checkpoint.name) or {}
            kept = {key: value for key, value in told.items() if key not in HISTORY}
            sha.update(json.dumps(kept, sort_keys=True).encode())
        tokens = checkpoint.folder / "tokenizer.json"
        sha.update(tokens.read_bytes() if tokens.is_file() else b"")
        for file in checkpoint.files:
            _sample(file, sha.update)
    return sha.hexdigest()


def _sample(file: Path, take: Any) -> None:
    with file.open("rb") as stream:
        size = int.from_bytes(stream.read(8), "little")
        header = stream.read(size)
        take(header)
        for name, about in sorted(json.loads(header).items()):
            if name != "__metadata__":
                start, end = about["data_offsets"]
                stream.seek(8 + size + start)
                take(stream.read(min(SAMPLE, end - start)))
                stream.seek(8 + size + max(start, end - SAMPLE))
                take(stream.read(min(SAMPLE, end - start)))


def _weight_files(checkpoint: Checkpoint) -> list[Path]:
    folder, name = checkpoint.folder, checkpoint.name
    if checkpoint.adapter is not None:
        wanted = [folder / ADAPTER_WEIGHTS]
    else:
        index = _read_json(folder / f"{WEIGHTS}.index.json", name)
        shards = sorted(set((index or {}).get("weight_map", {}).values()))
        wanted = [folder / shard for shard in shards or [WEIGHTS]]
    absent = [file.name for file in wanted if not file.is_file()]
    if absent:
        pickled = [*folder.glob("*.bin"), *folder.glob("*.pt"), *folder.glob("*.pth")]
        why = " (only safetensors are read: pickled weights can run code)" if pickled else ""
        raise InputError(f"model {name!r}: {folder} lacks {listed(absent)}{why}")
    return wanted


def snapshot_in_cache(name: str, cache: Path | None = None) -> Path | None:
    """The folder of a model in the local Hugging Face cache; None where it is not there.

    Raises:
        InputError: no model can have such a name.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, cache_dir=cache, allow_patterns=FETCHED, local_files_only=True))
    except HFValidationError as error:
        raise InputError(f"model {name!r}: there is no such folder, and it is no name of the hub") from error
    except LocalEntryNotFoundError:
        return None


def _from_cache(name: str) -> Path:
    """The folder of a model in the local cache, where it is put from the hub if need be and allowed."""
    from huggingface_hub import constants, is_offline_mode, snapshot_download

    found = snapshot_in_cache(name)
    if found is not None:
        return found
    tried = "HF_HUB_OFFLINE is set"
    if not is_offline_mode():
        _log.warning("model %r is not in %s; fetching it", name, constants.HF_HUB_CACHE)
        try:
            return Path(snapshot_download(name, allow_patterns=FETCHED))
        except Exception as error:  # the hub's client lets errors of several network libraries through
            tried = f"the hub could not be asked: {type(error.__cause__ or error).__name__}"
    raise InputError(
        f"model {name!r}: no such folder, and not in {constants.HF_HUB_CACHE} ({tried}); where there is a "
        f"network, run `hf download {name} --local-dir {_last(name)}`, bring the folder here, give its path"
    )


def _read_json(path: Path, name: str) -> dict[str, Any] | None:
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"model {name!r}: {path} cannot be read ({error})") from error
    if not isinstance(value, dict):
        raise InputError(f"model {name!r}: {path} is no JSON object")
    return value


def _last(name: str) -> str:
    """The last part of a name or path; of a folder in the Hugging Face cache, its repository's."""
    parts = Path(name).expanduser().absolute().parts
    for part in reversed(parts):
        if part.startswith("models--"):
            return part.split("--")[-1]
    return parts[-1]


def listed(names: Iterable[str], most: int = 5) -> str:
    """Names in one line, the first few of them."""
    ordered = sorted(names)
    more = f" and {len(ordered) - most} more" if len(ordered) > most else ""
    return ", ".join(ordered[:most]) + more
