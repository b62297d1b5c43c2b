"""What judges must reply: JSON schemas and the verdicts in them; anything else is no verdict."""

from collections.abc import Mapping, Sequence
from typing import Any

from eval.verdicts import Form, PartError

_TEXT = {"type": "string"}


def flags(*names: str) -> Form[dict[str, bool]]:
    """An object with a true or false under each name, and a reason."""

    def read(verdict: Mapping[str, Any]) -> dict[str, bool]:
        found = {name: verdict.get(name) for name in names}
        for name, value in found.items():
            if not isinstance(value, bool):
                raise ValueError(f"{name} is neither true nor false")
        return {name: value is True for name, value in found.items()}

    return Form(_object({**{name: {"type": "boolean"} for name in names}, "reason": _TEXT}), read)


def items(ids: Sequence[str], labels: Sequence[str]) -> Form[dict[str, Any]]:
    """An object with `items`, one for every id, each with one of the labels."""

    def read(verdict: Mapping[str, Any]) -> dict[str, Any]:
        entries = verdict.get("items")
        found = {
            str(entry.get("id")): entry.get("label")
            for entry in (entries if isinstance(entries, list) else [])
            if isinstance(entry, dict)
        }
        given = {name: found[name] for name in ids if found.get(name) in labels}
        lacking = [name for name in ids if name not in given]
        if lacking:
            raise PartError(f"no label for {', '.join(lacking)}", given)
        return given

    item = _object({"id": _TEXT, "label": {"type": "string", "enum": list(labels)}, "reason": _TEXT})
    return Form(_object({"items": {"type": "array", "items": item}}), read)


def short() -> Form[str]:
    """An object with the short answer under `answer`; a list becomes a Python literal."""

    def read(verdict: Mapping[str, Any]) -> str:
        value = verdict.get("answer")
        if isinstance(value, bool) or not isinstance(value, str | int | float | list):
            raise ValueError("no answer in it")
        return value if isinstance(value, str) else repr(value)

    value = {"anyOf": [_TEXT, {"type": "number"}, {"type": "array", "items": _TEXT}]}
    return Form(_object({"answer": value}), read)


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
