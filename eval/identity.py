"""What a run is of, and how its `manifest.json` says so; a folder of another run is told from it by that."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from indexes.errors import InputError

MANIFEST = "manifest.json"
FORMAT = 2


@dataclass(frozen=True, slots=True)
class Identity:
    """What a run is of. A folder of another identity is refused.

    Attributes:
        benchmark: its name, and its split where one was asked for.
        data: a digest of the benchmark's questions and gold.
        config: every dial.
    """

    benchmark: str
    data: str
    config: Mapping[str, Any]


def new_manifest(identity: Identity) -> dict[str, Any]:
    """The manifest of a run that begins now."""
    return {
        "format": FORMAT,
        "identity": {"benchmark": identity.benchmark, "data": identity.data, "config": dict(identity.config)},
        "started": now(),
        "ended": None,
        "sittings": [],
    }


def check_same(path: Path, manifest: Mapping[str, Any], identity: Identity) -> None:
    """Refuses a run of something else.

    Raises:
        InputError: it is of another benchmark, another config or other data.
    """
    known = manifest["identity"]
    if known["benchmark"] != identity.benchmark:
        was, now_is = known["benchmark"], identity.benchmark
        raise InputError(f"{path}: a run on {was}, not on {now_is}; name another folder")
    changed = _changed(known["config"], identity.config)
    if changed:
        raise InputError(f"{path}: a run of another config ({'; '.join(changed[:3])}); name another folder")
    if known["data"] != identity.data:
        raise InputError(
            f"{path}: a run on other data (questions or gold of {identity.benchmark}); name another folder"
        )


def _changed(was: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    keys = [key for key in {**was, **wanted} if was.get(key) != wanted.get(key)]
    return [f"{key} was {_glimpse(was.get(key))} and is now {_glimpse(wanted.get(key))}" for key in keys]


def _glimpse(value: object) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest of a run.

    Raises:
        InputError: there is no run, or its manifest is not ours.
    """
    file = path / MANIFEST
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"{path}: no run there (no {MANIFEST}); make one with python -m eval.run") from error
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{file}: cannot be read ({error})") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT or not _is_whole(manifest):
        raise InputError(f"{file}: no manifest of this version's runs; name another folder")
    return manifest


def _is_whole(manifest: Mapping[str, Any]) -> bool:
    """Whether a manifest tells what the run is of, and its sittings, by values that can be."""
    identity, told = manifest.get("identity"), manifest.get("benchmark")
    if not isinstance(identity, dict) or not isinstance(manifest.get("sittings"), list):
        return False
    texts = [identity.get("benchmark"), identity.get("data")]
    maybe = []
    if told is not None:
        if not isinstance(told, dict) or not {"pdfs", "split"} <= told.keys():
            return False
        texts += [told.get("name"), told.get("data")]
        maybe = [told["pdfs"], told["split"]]
    return (
        isinstance(identity.get("config"), dict)
        and all(isinstance(sitting, dict) for sitting in manifest["sittings"])
        and all(isinstance(text, str) for text in texts)
        and all(isinstance(text, str | None) for text in maybe)
    )


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
