"""From a model's reply to a value: JSON, repaired JSON, one more try with the error, or nothing, and why."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from agent.models import Completion, Model, ModelError, Request
from agent.types import Usage
from indexes.plain import plain

MAX_CHARACTERS = 200_000
RETRY_TOKENS = 160
"""Tokens at most by which the second request is longer than the first."""

_THOUGHT = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Heard(Generic[T]):
    """What came of asking a model.

    Attributes:
        value: what it said; None where no reply could be used.
        usage: of all tries.
        notes: what went wrong, a line each.
    """

    value: T | None
    usage: Usage
    notes: tuple[str, ...] = ()


def ask(model: Model, request: Request, read: Callable[[Mapping[str, Any]], T]) -> Heard[T]:
    """Asks a model, and once more, with the error, where its reply cannot be used.

    Args:
        model: whom to ask.
        request: what, with a schema.
        read: makes the value of the reply's JSON; raises ValueError or TypeError where it is not fit.

    Raises:
        ModelError: there was no reply to the first request.
    """
    usage, notes = Usage(), list[str]()
    for attempt in (1, 2):
        try:
            completion = model.complete(request)
        except ModelError as error:
            if attempt == 1:
                raise
            notes.append(f"{request.role}: {plain(str(error), 200)}")
            break
        usage += completion.usage
        try:
            value = _value(completion, read)
        except (ValueError, TypeError, RecursionError) as error:
            why = plain(str(error).encode("ascii", "replace").decode(), 100)
            again = attempt == 1 and completion.stop != "refusal"
            notes.append(f"{request.role}: {why}{'; asked again' if again else ''}")
            if not again:
                break
            request = _again(request, why)
            continue
        if completion.stop == "length":
            notes.append(f"{request.role}: cut at {request.max_tokens} tokens; what came is used")
        return Heard(value, usage, tuple(notes))
    return Heard(None, usage, tuple(notes))


def _again(request: Request, why: str) -> Request:
    said = f"Your last reply could not be used: {why}. Reply again, with the JSON object alone, and shorter."
    return replace(request, content=(*request.content, said))


def _value(completion: Completion, read: Callable[[Mapping[str, Any]], T]) -> T:
    if completion.stop == "refusal":
        raise ValueError(f"the model refused: {plain(completion.text, 100) or 'without a word'}")
    cut = " (it was cut by the length limit)" if completion.stop == "length" else ""
    try:
        return read(parse(completion.text))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{error}{cut}") from error


def parse(text: str) -> Mapping[str, Any]:
    """The JSON object in a reply, repaired where need be; a list counts as its `facts`.

    Raises:
        ValueError: there is none.
    """
    text = _THOUGHT.sub("", text[:MAX_CHARACTERS]).strip()
    if not text:
        raise ValueError("the reply is empty")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = _repaired(text)
    if isinstance(found, list):
        objects = [item for item in found if isinstance(item, dict)]
        found = objects[0] if len(objects) == 1 and "text" not in objects[0] else {"facts": found}
    if not isinstance(found, dict) or not found:
        raise ValueError(f"the reply holds no JSON object: {plain(text, 80)!r}")
    return found


def _repaired(text: str) -> Any:
    from json_repair import loads

    start = min((i for i in (text.find("{"), text.find("[")) if i >= 0), default=-1)
    return loads(text[start:]) if start >= 0 else None
