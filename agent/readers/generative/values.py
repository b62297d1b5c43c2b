"""Values out of a model's JSON, whatever it put there: the nearest of the wanted kind, or nothing."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from indexes.plain import plain

MAX_IDS = 400  # facts of an answer: as many as a ledger holds
_DIGITS = re.compile(r"-?\d{1,9}")
_NUMBER = re.compile(r"\d{1,9}")
_FACT = re.compile(r"\bf ?(\d{1,9})\b", re.IGNORECASE)
_BARE = re.compile(r"[\[(]?\s*\d{1,9}(?:(?:\s*[,;]\s*(?:and )?|\s+(?:and )?)\d{1,9}){0,63}\s*[\])]?")
_DIVIDES = re.compile(r"[,;]|\band\b")


def text_of(value: Any, limit: int) -> str:
    """A text on one line; numbers as they are, nothing for what is no text."""
    if isinstance(value, bool) or value is None or isinstance(value, dict | list):
        return ""
    return plain(str(value), limit)


def integer(value: Any) -> int | None:
    """A whole number, also out of `"page 12"` or `3.0`."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if abs(value) < 10**9 else None
    if isinstance(value, float):
        return int(value) if math.isfinite(value) and value == int(value) and abs(value) < 1e9 else None
    found = _DIGITS.search(value) if isinstance(value, str) else None
    return int(found[0]) if found else None


def integers(value: Any, most: int = 64) -> tuple[int, ...]:
    """Whole numbers of a list, or of a text that lists them, or one alone."""
    items = value if isinstance(value, list) else _DIVIDES.split(value) if isinstance(value, str) else [value]
    return tuple(n for n in map(integer, items[:most]) if n is not None)


def share(value: Any, default: float) -> float:
    """A number from 0 to 1; percentages are taken for what they mean."""
    if isinstance(value, str):
        try:
            value = float(value.rstrip("% "))
        except ValueError:
            return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return default
    return min(1.0, max(0.0, value / 100 if value > 1 else float(value)))


def truth(value: Any, default: bool) -> bool:
    """True or false, also in words."""
    if isinstance(value, bool):
        return value
    said = str(value).strip().lower()
    return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(said, default)


def texts(value: Any, limit: int, most: int) -> tuple[str, ...]:
    """Texts of a list, or one alone, without empty and repeated ones."""
    items = value if isinstance(value, list) else [value]
    said = (text_of(item, limit) for item in items[: 4 * most])
    return tuple(dict.fromkeys(text for text in said if text))[:most]


def fact_ids(value: Any) -> tuple[str, ...]:
    """Ids of facts, however they are written: `f3`, `[F3]`, `3`, `f3 (page 12)`, `f1, f2 and f3`, `1, 2`."""
    numbers_of = (_numbered(text) for text in texts(value, 400, MAX_IDS))
    return tuple(dict.fromkeys(f"f{int(number)}" for found in numbers_of for number in found))


def _numbered(text: str) -> list[str]:
    """The numbers of the facts in a text; other numbers in it, such as a page's, are none."""
    named = _FACT.findall(text)
    if named:
        return named
    found = _NUMBER.findall(text)
    return found if _BARE.fullmatch(text.strip()) else found[:1]


def objects(value: Any, most: int) -> Sequence[Mapping[str, Any]]:
    """Objects of a list."""
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, dict)][:most]


def numbers(value: Any) -> Sequence[float]:
    """A list of numbers as it is, for `agent.frames`; empty for what is none."""
    if not isinstance(value, list):
        return []
    return value if all(isinstance(v, int | float) and not isinstance(v, bool) for v in value) else []
