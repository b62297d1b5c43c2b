"""From a model's reply to a value: JSON, repaired JSON, one more try with the error, or nothing, and why."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from agent.deadline import seconds_left
from agent.models import Completion, Model, ModelError, Request
from agent.readers.generative.sizes import check_fits, fits
from agent.types import Usage
from indexes.plain import plain

MAX_CHARACTERS = 200_000
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
    check_fits(model, request)
    return _understood(model.complete(request), model, request, read)


def ask_all(
    model: Model, requests: Sequence[Request], read: Callable[[Mapping[str, Any]], T]
) -> list[Heard[T] | ModelError]:
    """Asks several requests, at a time where the model can; one without a reply has its error instead."""
    replies: Sequence[Completion | ModelError]
    if len(requests) > 1 and isinstance(model, Several) and all(fits(model, r) for r in requests):
        replies = model.complete_all(requests)
    else:
        replies = [_or_error(model, request) for request in requests]
    return [
        reply if isinstance(reply, ModelError) else _understood(reply, model, request, read)
        for request, reply in zip(requests, replies, strict=True)
    ]


@runtime_checkable
class Several(Protocol):
    """A model that answers several requests at a time."""

    def complete_all(self, requests: Sequence[Request]) -> list[Completion | ModelError]:
        """The replies in order; what has none has its error instead."""
        ...


@runtime_checkable
class Keeping(Protocol):
    """A model that keeps its replies, and gives them again where it is asked the same."""

    def forget(self, request: Request) -> None:
        """Keeps the reply to a request no longer."""
        ...


def _or_error(model: Model, request: Request) -> Completion | ModelError:
    try:
        check_fits(model, request)
        return model.complete(request)
    except ModelError as error:
        return error


def _understood(
    completion: Completion, model: Model, request: Request, read: Callable[[Mapping[str, Any]], T]
) -> Heard[T]:
    """The value of a reply, else of a second one that is asked for with the error.

    Where neither can be used, neither is kept, so that a later run does not get them again.
    """
    usage, notes, asked = completion.usage, list[str](), [request]
    for attempt in (1, 2):
        if len(completion.text) > MAX_CHARACTERS:
            size = f"{len(completion.text):,} characters; the first {MAX_CHARACTERS:,} are read"
            notes.append(f"{request.role}: a reply of {size}")
        try:
            value = _value(completion, read)
        except (ValueError, TypeError, RecursionError) as error:
            why = plain(str(error).encode("ascii", "replace").decode(), 100)
            again = attempt == 1 and completion.stop != "refusal" and seconds_left() > 0
            notes.append(f"{request.role}: {why}{'; asked again' if again else ''}")
            if not again:
                break
            asked.append(_again(request, why))
            second = _or_error(model, asked[-1])
            if isinstance(second, ModelError):
                notes.append(f"{request.role}: {plain(str(second), 200)}")
                break
            completion = second
            usage += completion.usage
            continue
        if completion.stop == "length":
            notes.append(f"{request.role}: cut at {request.max_tokens} tokens; what came is used")
        return Heard(value, usage, tuple(notes))
    if isinstance(model, Keeping):
        for one in asked:
            model.forget(one)
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
    """The JSON object in a reply's first `MAX_CHARACTERS`, repaired where need be; a list counts as `facts`.

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
