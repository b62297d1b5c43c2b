"""A run's configuration: frozen, few dials, loaded from `configs/NAME.yaml` or a file of one's own."""

import difflib
import hashlib
import json
import reprlib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from indexes.errors import InputError


class Config(BaseModel):
    """The dials of a run.

    Attributes:
        name: the config's name; it is no key of the file and does not enter the digest.
        encoder: the retriever's encoder, by name.
        encoder_model: of the encoder `colqwen`, the model: a folder or a name of the Hugging Face hub.
        encoder_base: where the base of an adapter lies, if not where the adapter says.
        device: what the encoder runs on: `cuda`, `mps` or `cpu`; the best one by default.
        max_num_visual_tokens: vectors that the encoder may give a page.
        batch_size: pages that the encoder takes at a time.
        reader: the reader, by name.
        rounds: retrieve-read-record passes at most.
        k: pages read a round.
        max_pages: pages read at most.
        max_seconds: per question, indexing not counted; the first round is finished in any case.
        dpi: of rendered pages.
        ocr: whether pages without a text layer are read by OCR.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str = Field(default="", exclude=True)
    encoder: str = Field(default="minilm", min_length=1)
    encoder_model: str | None = Field(default=None, min_length=1)
    encoder_base: str | None = Field(default=None, min_length=1)
    device: str | None = Field(default=None, min_length=1)
    max_num_visual_tokens: int | None = Field(default=None, ge=16, le=16_384)
    batch_size: int | None = Field(default=None, ge=1, le=1024)
    reader: str = Field(default="extractive", min_length=1)
    rounds: int = Field(default=3, ge=1, le=50)
    k: int = Field(default=4, ge=1, le=100)
    max_pages: int = Field(default=12, ge=1, le=5000)
    max_seconds: float = Field(default=120.0, gt=0, le=86_400)
    dpi: int = Field(default=144, ge=36, le=600)
    ocr: bool = True

    @property
    def encoder_settings(self) -> dict[str, Any]:
        """What the encoder is loaded with; empty for one without a model of the user's choice."""
        settings = {
            "model": self.encoder_model,
            "base": self.encoder_base,
            "device": self.device,
            "max_num_visual_tokens": self.max_num_visual_tokens,
            "batch_size": self.batch_size,
            "dpi": self.dpi if self.encoder_model else None,
        }
        return {key: value for key, value in settings.items() if value is not None}

    @property
    def digest(self) -> str:
        """A hash of all dials: two runs with one digest were asked for the same."""
        text = json.dumps(self.model_dump(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def names() -> list[str]:
    """The configs that come with the package."""
    files = (file.name for file in resources.files("configs").iterdir())
    return sorted(name.removesuffix(".yaml") for name in files if name.endswith(".yaml"))


def load_config(source: "str | Path | Config", **dials: Any) -> Config:
    """Loads a config by its name or its path; `dials` that are not None replace its own.

    Raises:
        InputError: there is no such config, it is no YAML mapping, a key is unknown or a value out of range.
    """
    given = {key: value for key, value in dials.items() if value is not None}
    if isinstance(source, Config):
        return _validated({**source.model_dump(), **given}, source.name, "config", given)
    where, text = _source(str(source))
    return _validated({**_mapping(text, where), **given}, Path(str(source)).stem, where, given)


def _source(name: str) -> tuple[str, str]:
    """Where a config comes from, in words, and its text."""
    if name.endswith((".yaml", ".yml")) or "/" in name or "\\" in name:
        try:
            return name, Path(name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"config {name}: cannot be read ({_first(error)})") from error
    if not (resources.files("configs") / f"{name}.yaml").is_file():
        raise InputError(
            f"config {name!r} is unknown{_meant(name, names())}; there are: {', '.join(names())}"
        )
    return f"configs/{name}.yaml", (resources.files("configs") / f"{name}.yaml").read_text(encoding="utf-8")


def _mapping(text: str, where: str) -> dict[str, Any]:
    import yaml

    try:
        values = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, RecursionError) as error:
        # the others come of dates, numbers and depths that the loader does not check
        raise InputError(f"{where}: not YAML ({' '.join(str(error).split())[:200]})") from error
    if values is None:
        return {}
    if not isinstance(values, Mapping) or not all(isinstance(key, str) for key in values):
        raise InputError(f"{where}: expected `key: value` lines, got {type(values).__name__}")
    return dict(values)


def _validated(values: dict[str, Any], name: str, where: str, given: Mapping[str, Any]) -> Config:
    known = sorted(set(Config.model_fields) - {"name"})
    for key in values:
        if key not in known:
            raise InputError(f"{where}: unknown key {key!r}{_meant(key, known)}")
    seconds = values.get("max_seconds")
    if isinstance(seconds, int) and not isinstance(seconds, bool):
        values = {**values, "max_seconds": float(seconds)}
    try:
        return Config(**values, name=name)
    except ValidationError as error:
        first = error.errors()[0]
        key, got = ".".join(map(str, first["loc"])), first["input"]
        what = f"{where}: {key} is {reprlib.repr(got)[:100]}"
        if key in given:
            what = f"--{key.replace('_', '-')} {got}"
        raise InputError(f"{what}: {first['msg'].lower()}") from error


def _meant(word: str, known: list[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""


def _first(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
