"""What a sweep leaves beside its runs: `sweep.json`, which says what each run folder is.

    {"format": 1, "kind": "ablation", "title": "rounds = 1, 2, 3", "note": "...",
     "settings": [{"name": "rounds=1", "folder": "rounds-1", "values": {"rounds": 1}, "long": "rounds-3"}]}

`long` names the folder of the run that a replay was answered from; it is null for a run of its own.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from eval.identity import MANIFEST
from eval.runs import read_ids
from indexes.cache import write_atomic
from indexes.errors import InputError

FILE = "sweep.json"
FORMAT = 1
Kind = Literal["ablation", "oracle"]


@dataclass(frozen=True, slots=True)
class Setting:
    """A run of a sweep.

    Attributes:
        name: in tables, such as `k=4, rounds=2`.
        folder: its run folder within the sweep's.
        values: the dials that tell it from the others.
        long: of a replay, the folder of the run that it replays.
    """

    name: str
    folder: str
    values: Mapping[str, Any]
    long: str | None = None


@dataclass(frozen=True, slots=True)
class Sweep:
    """What was varied, and the runs, in the order of tables."""

    kind: Kind
    title: str
    settings: tuple[Setting, ...]
    note: str = ""


def folder_name(text: str) -> str:
    """A setting's name as a folder's."""
    return re.sub(r"[^A-Za-z0-9._]+", "-", text).strip("-.") or "run"


def is_sweep(path: Path) -> bool:
    """Whether a folder holds a sweep."""
    return (path / FILE).is_file()


def write_sweep(path: Path, sweep: Sweep) -> None:
    """Writes `sweep.json`.

    Raises:
        InputError: it cannot be written.
    """
    value = {"format": FORMAT, **asdict(sweep)}
    write_atomic(path / FILE, (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode())


def read_sweep(path: Path) -> Sweep:
    """Reads `sweep.json`.

    Raises:
        InputError: it is not there or not ours.
    """
    file = path / FILE
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
        if value["format"] != FORMAT or value["kind"] not in ("ablation", "oracle"):
            raise ValueError(f"format {value['format']!r}, kind {value['kind']!r}")
        settings = tuple(_setting(given) for given in value["settings"])
        folders = {setting.folder for setting in settings}
        if not settings or not all(setting.long in (None, *folders) for setting in settings):
            raise ValueError("no settings, or a replay of none of them")
        return Sweep(value["kind"], str(value["title"]), settings, str(value["note"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{file}: no sweep of this version ({error})") from error


def _setting(given: Mapping[str, Any]) -> Setting:
    folder, long = str(given["folder"]), given["long"]
    for name in (folder, long or folder):
        if folder_name(name) != name:
            raise ValueError(f"folder {name!r}: expected a folder of the sweep")
    return Setting(str(given["name"]), folder, dict(given["values"]), long)


def same_questions(path: Path, settings: Sequence[Setting], ids: Iterable[str]) -> None:
    """Refuses a folder whose settings were asked more than is asked now: the others would be asked less.

    Raises:
        InputError: one was.
    """
    asked = set(ids)
    for setting in settings:
        more = len(set(read_ids(path / setting.folder)) - asked)
        if more:
            raise InputError(
                f"{path}: {setting.folder} was asked {more} questions more; give the same --limit, --ids and "
                "--settings, or name another folder"
            )


def same_sweep(path: Path, wanted: Sequence[Setting]) -> None:
    """Refuses a folder that holds another sweep, or a run.

    Raises:
        InputError: it does.
    """
    if not is_sweep(path):
        if (path / MANIFEST).is_file():
            raise InputError(f"{path}: holds a run and no sweep; name a new or empty folder")
        return
    there = {setting.folder: dict(setting.values) for setting in read_sweep(path).settings}
    for setting in wanted:
        if setting.folder in there and there[setting.folder] != dict(setting.values):
            raise InputError(
                f"{path}: {setting.folder} there is of {there[setting.folder]}; name another folder"
            )
