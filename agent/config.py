"""A run's configuration: frozen, few dials, loaded from `configs/NAME.yaml` or a file of one's own."""

import difflib
import hashlib
import json
import reprlib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from agent.frames import BoxFrame
from indexes.errors import InputError

_STRICT = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)
_SECRETIVE = {
    "key_env": "expected the name of an environment variable in capitals, such as MY_KEY",
    "base_url": "expected an address such as http://127.0.0.1:8000/v1, without a user, a password, ? or #",
}
"""What is said of a dial that may hold a key by mistake; its value is not shown."""


class Endpoint(BaseModel):
    """Where a model is served, how it is asked and what it costs; keys come from the environment only.

    Attributes:
        provider: whose API it speaks; `openai` is also vLLM's, SGLang's, llama.cpp's, Ollama's and others'.
        base_url: of the API; the provider's own by default.
        key_env: the environment variable that holds the key, if not the provider's own (`PAGETRAIL_API_KEY`
            with a `base_url`). It is a name, never the key.
        structured: how a reply is held to its schema: `schema` (response_format), `tool` (a tool call) or
            `json` (asked for in words); `auto` tries them in this order and remembers which one works.
        temperature: of sampling; None sends none, for models that refuse the parameter.
        seed: sent where the API has one.
        stream: take the reply as a stream, for gateways that cut quiet connections.
        timeout: seconds for a whole reply.
        retries: further tries after 429, 5xx, a timeout or a lost connection.
        concurrency: calls at a time.
        requests_per_minute: sent at most; None for no limit.
        price_in: of a million tokens read; costs are in its currency.
        price_out: of a million tokens written.
        cache: whether replies are kept on disk, so that a call that was made before costs nothing.
    """

    model_config = _STRICT

    provider: Literal["openai", "anthropic", "google"] = "openai"
    base_url: str | None = Field(default=None, pattern=r"^https?://[^\s@?#]+$")
    key_env: str | None = Field(default=None, pattern=r"^[A-Z][A-Z0-9_]*$", max_length=64)
    structured: Literal["auto", "schema", "tool", "json"] = "auto"
    temperature: float | None = Field(default=0.0, ge=0, le=2)
    seed: int | None = Field(default=None, ge=0)
    stream: bool = False
    timeout: float = Field(default=120.0, gt=0, le=3600)
    retries: int = Field(default=5, ge=0, le=20)
    concurrency: int = Field(default=4, ge=1, le=256)
    requests_per_minute: float | None = Field(default=None, gt=0)
    price_in: float = Field(default=0.0, ge=0)
    price_out: float = Field(default=0.0, ge=0)
    cache: bool = True

    @field_validator("base_url")
    @classmethod
    def _is_address(cls, url: str | None) -> str | None:
        parts = urlsplit(url or "http://none")  # raises ValueError, as `port` does, where it is no address
        if not parts.hostname or parts.port == 0:
            raise ValueError("no host, or no port that can be")
        return url


class View(BaseModel):
    """What a model is shown of a page and what it may say, within its context.

    Attributes:
        images: whether it sees pictures of pages; without, it reads words and tables.
        context: tokens that a request and its reply may have together.
        image_tokens: tokens that the picture of a page may cost.
        reply_tokens: tokens that a reply may have.
        set_of_marks: number the blocks on the pictures.
        zoom: let the model look at regions again, at up to 300 DPI, once a round.
        check: have the model check its own answer against the facts that it cites.
        box_frame: what the numbers of its boxes mean; by the model's name if not said.
    """

    model_config = _STRICT

    images: bool = True
    context: int = Field(default=32_768, ge=4096, le=10_000_000)
    image_tokens: int = Field(default=1280, ge=64, le=20_000)
    reply_tokens: int = Field(default=2048, ge=128, le=100_000)
    set_of_marks: bool = True
    zoom: bool = True
    check: bool = True
    box_frame: BoxFrame | None = None


class Config(BaseModel):
    """The dials of a run.

    Attributes:
        name: the config's name; it is no key of the file and does not enter the digest.
        encoder: the retriever's encoder, by name.
        encoder_model: of the encoder `colqwen`, the model: a folder or a name of the Hugging Face hub.
        encoder_base: where the base of an adapter lies, if not where the adapter says.
        device: what encoder and local reader run on: `cuda`, `mps` or `cpu`; the best one by default.
        max_num_visual_tokens: vectors that the encoder may give a page.
        batch_size: pages that the encoder takes at a time.
        pool_factor: similar vectors of a page that are merged into one in the index.
        reader: the reader, by name.
        reader_model: of the readers `chat` and `qwen`, the model: its name at the endpoint, or a folder or a
            name of the Hugging Face hub.
        endpoint: of the reader `chat`, where the model is served and how it is asked.
        view: of a reader that is a model, what it is shown.
        rounds: retrieve-read-record passes at most.
        k: pages read a round.
        max_pages: pages read at most.
        unsupported: what becomes of an answer that does not follow from its facts even when revised: an
            abstention, or the answer, marked.
        max_seconds: per question, indexing not counted; the first round is finished in any case, and what
            fails is not tried again afterwards.
        dpi: of rendered pages.
        ocr: whether pages without a text layer are read by OCR.
    """

    model_config = _STRICT

    name: str = Field(default="", exclude=True)
    encoder: str = Field(default="minilm", min_length=1)
    encoder_model: str | None = Field(default=None, min_length=1)
    encoder_base: str | None = Field(default=None, min_length=1)
    device: str | None = Field(default=None, min_length=1)
    max_num_visual_tokens: int | None = Field(default=None, ge=16, le=16_384)
    batch_size: int | None = Field(default=None, ge=1, le=1024)
    pool_factor: int | None = Field(default=None, ge=1, le=64)
    reader: str = Field(default="extractive", min_length=1)
    reader_model: str | None = Field(default=None, min_length=1)
    endpoint: Endpoint | None = None
    view: View | None = None
    rounds: int = Field(default=3, ge=1, le=50)
    k: int = Field(default=4, ge=1, le=100)
    max_pages: int = Field(default=12, ge=1, le=5000)
    unsupported: Literal["abstain", "mark"] = "abstain"
    max_seconds: float = Field(default=120.0, gt=0, le=86_400)
    dpi: int = Field(default=144, ge=36, le=600)
    ocr: bool = True

    @property
    def encoder_settings(self) -> dict[str, Any]:
        """What the encoder is loaded with; empty for one without a model of the user's choice."""
        settings = {
            "model": self.encoder_model,
            "base": self.encoder_base,
            # an encoder without a model of the user's choice leaves the device to a local reader
            "device": self.device if self.encoder_model or self.reader != "qwen" else None,
            "max_num_visual_tokens": self.max_num_visual_tokens,
            "batch_size": self.batch_size,
            "pool_factor": self.pool_factor,
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
    _refuse_unknown(values, where)
    seconds = values.get("max_seconds")
    if isinstance(seconds, int) and not isinstance(seconds, bool):
        values = {**values, "max_seconds": float(seconds)}
    try:
        return Config(**values, name=name)
    except ValidationError as error:
        first = error.errors()[0]
        key, got = ".".join(map(str, first["loc"])), first["input"]
        secretive = _SECRETIVE.get(key.rpartition(".")[2])
        if secretive:
            raise InputError(f"{where}: {key}: {secretive}") from None
        what = f"{where}: {key} is {reprlib.repr(got)[:100]}"
        if key in given:
            what = f"--{key.replace('_', '-')} {got}"
        raise InputError(f"{what}: {first['msg'].lower()}") from error


def _refuse_unknown(values: Mapping[str, Any], where: str) -> None:
    groups: dict[str, type[BaseModel]] = {"": Config, "endpoint": Endpoint, "view": View}
    for group, model in groups.items():
        given = values.get(group) if group else values
        known = sorted(set(model.model_fields) - {"name"})
        for key in given if isinstance(given, Mapping) else ():
            if key not in known:
                name = f"{group}.{key}" if group else str(key)
                raise InputError(f"{where}: unknown key {name!r}{_meant(str(key), known)}")


def _meant(word: str, known: list[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""


def _first(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
