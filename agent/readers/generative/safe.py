"""Text of documents in a prompt: data between delimiters that it can neither close nor open.

A `<` that could begin a tag or a token of a chat template (`</page>`, `<|im_start|>`, `<start_of_turn>`)
becomes a look-alike, and the bracket of `[INST]` a parenthesis; `<5 %` and `a <= b` stay.
"""

import re

from indexes.plain import plain

LOOKALIKE = "‹"
_TAG = re.compile(r"<(?=\s*[/|!?A-Za-z_<\uff5c\u2581])")
_BLOCK = re.compile(r"^\s*\[\d+\]\s*(?:\([a-z]+\)\s*)?")
_ROW = re.compile(r"^\s*\|\s*\d+\s*(?=\|)")
_INST = re.compile(r"\[(?=\s*(?:/\s*)?INST\s*\])", re.IGNORECASE)


def safe(text: str, limit: int | None = None) -> str:
    """One line of data, harmless."""
    return _INST.sub("(", _TAG.sub(LOOKALIKE, plain(text, limit)))


def attribute(text: str) -> str:
    """The value of a delimiter's attribute."""
    return safe(text, 60).replace('"', "'").replace(">", "›")


def between(name: str, lines: str, **attributes: str | int) -> str:
    """Lines, each made by `safe`, between delimiters."""
    said = "".join(f' {key}="{value}"' for key, value in attributes.items())
    return f"<{name}{said}>\n{lines}\n</{name}>"


def as_printed(quote: str) -> str:
    """A quote without what only the prompt has: block and row numbers, the bars of tables, look-alikes."""
    text = _BLOCK.sub("", quote)
    if text.lstrip().startswith("|"):
        text = _ROW.sub("", text)
    return " ".join(text.replace("|", " ").replace(LOOKALIKE, "<").split())
