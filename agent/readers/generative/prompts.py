"""The prompts, one file a role, each named by the hash of what it may say."""

import functools
import hashlib
import itertools
from importlib import resources

from agent.frames import BoxFrame

ROLES = ("plan", "read", "decide", "answer", "verify")

BOXES: dict[BoxFrame, str] = {
    "qwen2.5-vl": "[x1, y1, x2, y2] in pixels of the picture",
    "pixels": "[x1, y1, x2, y2] in pixels of the picture",
    "thousand": "[x1, y1, x2, y2], each from 0 to 1000 of the picture's width or height",
    "thousand-yx": "[y1, x1, y2, x2], each from 0 to 1000 of the picture's height or width",
    "normalized": "[x1, y1, x2, y2], each from 0 to 1 of the picture's width or height",
}

FORMATS = {
    "span": "a name, a date or a phrase as the document writes it.",
    "number": "the number as the document prints it; with unit, currency or scale only if the question leaves"
    " them open: asked in millions, 18,078 and not $18,078 million.",
    "count": "a whole number in digits.",
    "list": "its members, separated by commas.",
    "comparison": "the name of the one that the question asks for.",
    "difference": "the computed number, with a percent sign if it is a percentage.",
    "yes_no": "Yes or No.",
}


@functools.cache
def prompt(role: str) -> str:
    """The text of a role's prompt."""
    return (resources.files("agent") / "prompts" / f"{role}.md").read_text(encoding="utf-8")


@functools.cache
def _wordings(role: str) -> tuple[str, ...]:
    """All that a role's prompt may say: what is put into it counts like the file."""
    if role == "answer":
        return tuple(prompt(role).replace("{format}", form) for form in FORMATS.values())
    if role == "read":
        dials = itertools.product((False, True), repeat=3)
        frames: tuple[BoxFrame | None, ...] = (None, *BOXES)
        return tuple(read_prompt(f, marks=m, zoom=z, cells=c) for m, z, c in dials for f in frames)
    return (prompt(role),)


def hashes() -> dict[str, str]:
    """Of every role the beginning of the sha256 of what its prompt may say."""
    return {role: hashlib.sha256("\0".join(_wordings(role)).encode()).hexdigest()[:12] for role in ROLES}


def read_prompt(frame: BoxFrame | None, *, marks: bool, zoom: bool, cells: bool) -> str:
    """The prompt of the role `read` for what the model sees; `frame` is None where it sees no pictures."""
    pictures = boxes = again = told = ""
    if frame is not None:
        drawn = " The same numbers are drawn at the blocks." if marks else ""
        pictures = f" A picture of the page comes after them.{drawn}"
        boxes = f"\n  - `box`: where in the picture it stands, {BOXES[frame]}; empty if the blocks say it."
    if zoom:
        again = (
            "\n- `zoom`: up to three places whose print is too small to read, to see them larger: `page`,"
            " `blocks` and, if no block fits, `box`; else empty."
        )
    if cells:
        told = (
            "\n  - `cells`: for what stands in a table, [block, row, column] of each cell, by the row numbers"
            " shown; columns count from 0; else empty."
        )
    text = prompt("read").replace("{pictures}", pictures).replace("{boxes}", boxes)
    return text.replace("{zoom}", again).replace("{cells}", told)
