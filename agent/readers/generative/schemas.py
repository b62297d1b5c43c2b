"""What a reply of each role looks like: JSON schemas that every endpoint with schemas takes.

Every property is required, nothing else is allowed, as strict endpoints want it; what does not apply is
empty.
"""

from collections.abc import Mapping
from typing import Any, get_args

from agent.types import AnswerType

Schema = Mapping[str, Any]

_INTEGERS = {"type": "array", "items": {"type": "integer"}}
_NUMBERS = {"type": "array", "items": {"type": "number"}}
_TEXTS = {"type": "array", "items": {"type": "string"}}
_TEXT = {"type": "string"}
_INTEGER = {"type": "integer"}
_NUMBER = {"type": "number"}
_TRUTH = {"type": "boolean"}


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(item: Any) -> dict[str, Any]:
    return {"type": "array", "items": item}


def plan_schema() -> Schema:
    """Of the role `plan`."""
    kinds = {"type": "string", "enum": list(get_args(AnswerType))}
    return _object(answer_type=kinds, parts=_TEXTS, queries=_TEXTS, sweep=_TRUTH)


def read_schema(*, boxes: bool, zoom: bool, cells: bool, regions: bool = False) -> Schema:
    """Of the role `read`; `regions` where it sees regions that it asked for."""
    fact: dict[str, Any] = {"page": _INTEGER}
    if regions:
        fact["region"] = _INTEGER
    fact |= {"text": _TEXT, "quote": _TEXT, "blocks": _INTEGERS}
    if cells:
        fact["cells"] = _list(_INTEGERS)
    if boxes:
        fact["box"] = _NUMBERS
    reply = {"facts": _list(_object(**fact, part=_INTEGER, relevance=_NUMBER)), "missing": _INTEGERS}
    reply["see"] = _INTEGERS
    if zoom:
        reply["zoom"] = _list(_object(page=_INTEGER, blocks=_INTEGERS, box=_NUMBERS))
    return _object(**reply)


def decide_schema() -> Schema:
    """Of the role `decide`."""
    kinds = {"type": "string", "enum": ["answer", "retrieve"]}
    part = _object(part=_INTEGER, facts=_TEXTS, enough=_TRUTH)
    return _object(parts=_list(part), action=kinds, queries=_TEXTS, reason=_TEXT)


def answer_schema() -> Schema:
    """Of the role `answer`."""
    return _object(
        parts=_list(_object(part=_INTEGER, facts=_TEXTS, supported=_TRUTH)),
        answerable=_TRUTH,
        answer=_TEXT,
        items=_TEXTS,
        facts=_TEXTS,
        expression=_TEXT,
        reason=_TEXT,
        confidence=_NUMBER,
    )


def verify_schema() -> Schema:
    """Of the role `verify`."""
    return _object(follows=_TRUTH, problem=_TEXT, answer=_TEXT, facts=_TEXTS)
