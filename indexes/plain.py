"""Text from documents and models made harmless: one line, no control characters, no escape sequences."""

import re
import unicodedata

# CSI and OSC sequences in 7-bit and 8-bit form; of a broken one at least the control character goes.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?|\x1b[ -/]*[0-~]"
)
_JOINERS = frozenset("\u200c\u200d")  # spelling in Persian and Indic scripts needs them


def _plain_character(character: str) -> str:
    category = unicodedata.category(character)
    if category in ("Cc", "Zl", "Zp"):
        return " "
    if category[0] == "C" and character not in _JOINERS:
        return ""
    return character


def plain(text: str, limit: int | None = None) -> str:
    """The text on one line: white space collapsed, control, format, surrogate and private characters gone.

    Bidirectional overrides are format characters, so that nothing in a document can reorder what stands
    around it; letters of right-to-left scripts stay.

    Args:
        text: anything read from a document or said by a model.
        limit: the most characters to keep; a longer text ends with an ellipsis.
    """
    if not text.isascii() or not text.isprintable():
        text = "".join(map(_plain_character, _ESCAPES.sub(" ", text)))
    text = " ".join(text.split())
    if limit is not None and len(text) > limit:
        text = text[: max(0, limit - 1)].rstrip() + "…"
    return text
