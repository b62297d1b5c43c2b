"""Short answers by rules: what the rule-based metrics compare, out of what a reader wrote.

The benchmarks' own pipelines let a model extract the short answer from a long response. Where the response
has an `<answer>` this is not needed: the tagged text is brought into the form of the answer format, nothing
else. Tables say that the extraction was by rules.
"""

import ast
import re

from agent.citations import parse_model_raw
from agent.types import UNANSWERABLE

NOT_ANSWERABLE = "Not answerable"
"""How MMLongBench-Doc and LongDocURL write an abstention."""

FAIL = "Fail to answer"
"""How their pipelines write that there is no answer."""

_SAID = re.compile(r"(?:\banswer\s*(?:is|:)|\*\*answer\*\*\s*:?)\s*(.{1,2000})", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.,])[-−]?\$?\d[\d,]*+(?:\.\d++)?%?")
_SEPARATORS = (
    re.compile(r"\n"),
    re.compile(r" ?; ?(?:and )?"),
    re.compile(r" ?, ?(?!\d{3}\b)(?:and )?"),
)
_BULLET = re.compile(r"^(?:[-*•]|\(?\d{1,2}[.)])\s+")


def tagged_or_said(text: str) -> str:
    """The last tagged answer of a response, else what follows its last `answer is` or `Answer:`, else all."""
    tagged = parse_model_raw(text).answer if "</" in text else None
    if tagged:
        return tagged
    said = _SAID.findall(text)
    return str(said[-1]).strip() if said else text.strip()


def shorten(answer: str, answer_format: str) -> str:
    """An answer in the form of its format (Int, Integer, Float, Str, String, List, None).

    An abstention becomes the benchmarks' own; a number loses the words around it where it is the only one;
    an enumeration becomes a list literal. What does not fit its format stays as it is.
    """
    lines = [" ".join(line.split()) for line in answer.splitlines()]
    text = ("\n" if answer_format == "List" else " ").join(line for line in lines if line)
    if is_abstention(text):
        return NOT_ANSWERABLE
    if answer_format in ("Int", "Integer", "Float"):
        return _number(text, whole=answer_format != "Float")
    if answer_format == "List":
        return _list(text)
    return text.rstrip(" .") if text.count(".") == 1 and text.endswith(".") else text


def is_abstention(text: str) -> bool:
    """Whether a short answer is nothing but an abstention: `Unanswerable`, `Not answerable`."""
    plain = text.strip().strip("\"'.").casefold()
    return plain in (UNANSWERABLE.casefold(), NOT_ANSWERABLE.casefold())


def _number(text: str, *, whole: bool) -> str:
    found = _NUMBER.findall(text)
    if len(found) != 1:
        return text
    number = str(found[0]).replace(",", "").replace("−", "-").replace("$", "")
    if not whole:
        return number
    number = number.rstrip("%")
    return number.partition(".")[0] if re.fullmatch(r"-?\d+\.0+", number) else number


def _list(text: str) -> str:
    if text.startswith("["):
        try:
            ast.literal_eval(text[:20_000])
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            text = text.strip("[]")
        else:
            return text
    separator = next((s for s in _SEPARATORS[:-1] if s.search(text)), _SEPARATORS[-1])
    parts = separator.split(text)
    if separator is _SEPARATORS[-1]:
        parts = [*parts[:-1], *parts[-1].split(" and ")]
    items = [_BULLET.sub("", item).strip().strip("\"'").rstrip(".").strip() for item in parts]
    return repr([item for item in items if item])
