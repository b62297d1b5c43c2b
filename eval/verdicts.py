"""Asking a judge: a verdict is cached, what is no verdict is a failure that is listed and asked again later.

A verdict is kept under the digest of everything that it depends on: the model, its parameters, the whole
prompt and the picture. A call that brings no reply, or none that can be read, leaves nothing in the cache but
the number of tries, so that the next run asks in other words (the reply to the same request may be cached by
the model) and a failure never turns into a verdict.
"""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from agent.models import Model, ModelError, Picture, Request
from indexes.cache import digest, entry, read_json, write_json
from indexes.errors import one_line

if TYPE_CHECKING:
    from PIL.Image import Image

T = TypeVar("T")
MAX_TOKENS = 2048
TRIES = 2  # replies that cannot be read, a run
MAX_REPLY = 200_000  # characters of a reply that are looked at


class PartError(ValueError):
    """A reply that answers only a part of what was asked; `part` is what it says."""

    def __init__(self, message: str, part: Any) -> None:
        super().__init__(message)
        self.part = part


class _NoVerdictError(Exception):
    """The judge gave no whole verdict; the message says why, `part` what there is of one."""

    def __init__(self, message: str, part: Any = None) -> None:
        super().__init__(message)
        self.part = part


@dataclass(frozen=True, slots=True)
class Failure:
    """What could not be judged, and why: `kind` is region, fact, answer, equivalence or extraction."""

    question_id: str
    kind: str
    page: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Form(Generic[T]):
    """What a reply must be: the JSON schema, and `read`.

    `read` raises ValueError where the reply is no verdict, `PartError` where it is a part of one.
    """

    schema: Mapping[str, Any]
    read: Callable[[Mapping[str, Any]], T]


@dataclass(frozen=True, slots=True)
class Ask(Generic[T]):
    """One thing to ask.

    Attributes:
        prompt: the whole text.
        form: what the reply must be.
        picture: makes the picture, only if it must be asked; raises ValueError where it cannot be made.
        seen: names the picture's content; empty without one.
    """

    question_id: str
    kind: str
    page: int | None
    prompt: str
    form: Form[T]
    picture: "Callable[[], Image] | None" = None
    seen: str = ""


class Asker:
    """Asks one model; safe to use from several threads.

    Args:
        model: the judge.
        parameters: what else a verdict of it depends on, such as temperature and seed.
    """

    def __init__(self, model: Model, parameters: Mapping[str, Any]) -> None:
        self.model = model
        self.parameters = dict(parameters)
        self._failed: dict[str, Failure] = {}
        self._parts: dict[str, Any] = {}
        self._lock = threading.Lock()
        self.calls = 0

    @property
    def failures(self) -> tuple[Failure, ...]:
        """What could not be judged in this run."""
        with self._lock:
            return tuple(self._failed.values())

    def failed(self, failure: Failure) -> None:
        """Lists what could not even be asked."""
        with self._lock:
            self._failed[digest(failure.question_id, failure.kind, failure.page)] = failure

    def ask(self, ask: Ask[T]) -> T | None:
        """The verdict, from the cache or the model; None where there is none.

        A part of a verdict counts in this run, is a failure in the list, and is not kept.

        Raises:
            InputError: a user's mistake, such as a wrong key or model name.
        """
        pinned = json.dumps(self.parameters, sort_keys=True, default=str)
        key = digest(self.model.name, pinned, ask.kind, ask.prompt, json.dumps(ask.form.schema), ask.seen)
        kept = read_json(entry("verdict", key))
        if kept is not None:
            try:
                return ask.form.read(kept["verdict"])
            except (ValueError, KeyError, TypeError):
                kept = None  # written by rules that were others
        with self._lock:
            if key in self._failed:
                part: T | None = self._parts.get(key)
                return part
        try:
            return self._try(ask, key)
        except _NoVerdictError as error:
            part = error.part
            with self._lock:
                self._failed[key] = Failure(ask.question_id, ask.kind, ask.page, str(error))
                self._parts[key] = part
            return part

    def _try(self, ask: Ask[T], key: str) -> T:
        tries_file = entry("verdict_tries", key)
        before = read_json(tries_file)
        tries = before if isinstance(before, int) else 0
        reason, part = "", None
        for _ in range(TRIES):
            tries += 1
            try:
                reply = self._complete(ask, tries)
            except ModelError as error:
                reason = f"no reply: {one_line(str(error))[:300]}"
                break
            except ValueError as error:
                raise _NoVerdictError(f"no picture: {one_line(str(error))[:300]}") from error
            try:
                verdict = read_object(reply)
                found = ask.form.read(verdict)
            except ValueError as error:
                part = error.part if isinstance(error, PartError) else part
                reason = f"unreadable reply ({error}): {one_line(reply)[:120]!r}"
                continue
            write_json(entry("verdict", key), {"verdict": verdict, "model": self.model.name})
            return found
        write_json(tries_file, tries)
        raise _NoVerdictError(reason, part)

    def _complete(self, ask: Ask[T], tries: int) -> str:
        text = ask.prompt
        if tries > 1:
            text += f"\n\n(Try {tries}. Reply with the JSON object only, every id in it, no other words.)"
        content: tuple[str | Picture, ...] = (text,)
        if ask.picture is not None:
            content = (Picture(ask.picture(), f"page {ask.page}"), text)
        with self._lock:
            self.calls += 1
        completion = self.model.complete(
            Request(f"judge_{ask.kind}", "", content, ask.form.schema, MAX_TOKENS)
        )
        if completion.stop == "refusal":
            raise ModelError("the model refused")
        return completion.text


def read_object(text: str) -> Mapping[str, Any]:
    """The JSON object of a reply, which may stand in a fence or between other words.

    Raises:
        ValueError: there is none.
    """
    text = text[:MAX_REPLY].strip()
    start, end = text.find("{"), text.rfind("}")
    for part in (text, text[start : end + 1] if 0 <= start < end else ""):
        try:
            value = json.loads(part)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return value
    raise ValueError("no JSON object")
