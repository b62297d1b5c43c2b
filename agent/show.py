"""An answer as a person reads it: the answer, its evidence, what else was found, what it cost."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from agent.forms import SCALES
from agent.naming import MAX_NAME, ref_spans, spans
from agent.trajectory import Trajectory
from agent.types import Fact, Usage
from indexes.plain import plain
from indexes.types import PageRef

MAX_OTHER = 8
_AMOUNT = re.compile(
    r"(?<![\w.,])[$€£¥]?(?P<number>-?\d{1,3}(?:,\d{3})++(?:\.\d++)?|-?\d++(?:\.\d++)?)"
    r"(?:\s?%|\s(?P<scale>thousand|million|billion|trillion)\b)?(?![\w,]*\d)"
)
MAX_TEXT = 240  # characters
_WHY = {
    "answered": "the reader had enough",
    "abstained": "the reader had searched enough to say so",
    "rounds": "the budget of rounds was spent",
    "pages": "the budget of pages was spent",
    "seconds": "the budget of seconds was spent",
    "nothing_left": "no unread page was left to read",
    "error": "a step failed",
}


def show(trajectory: Trajectory) -> str:
    """The run as text, ending with a newline; nothing in it can steer a terminal."""
    parts = [_answer(trajectory)]
    shown = trajectory.shown
    if shown:
        parts.append(
            _facts("Nearest evidence" if trajectory.reply.abstains else "Evidence", shown, trajectory)
        )
    rest = [fact for fact in trajectory.other if fact not in shown]
    if rest:
        parts.append(_facts("Other evidence", rest[:MAX_OTHER], trajectory, len(rest) - MAX_OTHER))
    parts.append(_cost(trajectory))
    return "\n\n".join(parts) + "\n"


def as_stated(trajectory: Trajectory) -> str:
    """How a cited fact writes an answer that is a bare number, as `$34,229 million`; empty if just so.

    Answers are as short as benchmarks want them; a person wants the currency and the scale.
    """
    bare = trajectory.answer.replace(",", "").rstrip("%")
    if not re.fullmatch(r"-?\d+(?:\.\d+)?", bare):
        return ""
    amounts = [found for fact in trajectory.cited for found in _AMOUNT.finditer(plain(fact.text))]
    same = [found for found in amounts if float(found["number"].replace(",", "")) == float(bare)]
    same = same or [found for found in amounts if _rescaled(found, float(bare))]
    return next((text for found in same if (text := found[0].strip()) != trajectory.answer), "")


def _rescaled(found: re.Match[str], bare: float) -> bool:
    """Whether an amount with a scale is a number in another one: 18.078 billion is 18,078 in millions."""
    if found["scale"] is None:
        return False
    amount = float(found["number"].replace(",", "")) * SCALES[found["scale"]]
    return any(math.isclose(amount, bare * scale, rel_tol=1e-9) for scale in (1.0, 1e3, 1e6, 1e9))


def _answer(trajectory: Trajectory) -> str:
    reply = trajectory.reply
    lines = [f"Question: {plain(trajectory.question)}"]
    if trajectory.failure is not None:
        return "\n".join([*lines, f"No answer: the run failed ({plain(trajectory.failure)})"])
    stated = as_stated(trajectory)
    lines.append(f"Answer: {plain(reply.text)}" + (f"  (stated as {stated})" if stated else ""))
    if reply.incomplete:
        lines.append(f"Perhaps incomplete: {plain(reply.coverage)}")
    if reply.abstains:
        queries = dict.fromkeys(query for record in trajectory.rounds for query in record.queries)
        lines += [f"Looked for: {'; '.join(map(plain, queries))}", f"Not found: {plain(reply.reason)}"]
    elif reply.expression:
        lines.append(f"Computed: {plain(reply.expression)}")
    if reply.unsupported:
        lines.append(f"Not borne out: {plain(reply.unsupported)}")
    elif trajectory.revised:
        lines.append(f"A first answer was not let through: {plain(trajectory.revised)}")
    return "\n".join(lines)


def _facts(title: str, facts: Sequence[Fact], trajectory: Trajectory, more: int = 0) -> str:
    lines = [title]
    for fact in facts:
        for number, region in enumerate(fact.regions):
            page = place(region.ref, trajectory.labels.get(region.ref), several=trajectory.several)
            box = ", ".join(f"{value:.3f}" for value in region.bbox.as_list())
            name = fact.id if number == 0 else ""
            support = f"  {fact.support}" if number == 0 else ""
            lines.append(f"  {name:<4} {page}  [{box}]{support}")
        lines += [f"       {line}" for line in _said(plain(fact.text), plain(fact.quote))]
    if more > 0:
        lines.append(f"  and {more} more, in the row that --json or --out gives")
    return "\n".join(lines)


def _said(text: str, quote: str) -> list[str]:
    """The statement and its quote; one line where the statement begins with its quote."""
    if not quote:
        return [plain(text, MAX_TEXT)]
    if text.startswith(quote):
        return [f'"{plain(quote, MAX_TEXT)}" {plain(text.removeprefix(quote), MAX_TEXT)}'.rstrip()]
    return [plain(text, MAX_TEXT), f'"{plain(quote, MAX_TEXT)}"']


def place(ref: PageRef, label: str | None, *, several: bool = False) -> str:
    """A page as people find it: `p. 14 (label 12)`, or `p. 14` where nothing is printed on it.

    Of several documents it says which: `report, p. 14 (label 12)`.
    """
    name = plain(label or "", 40)
    page = f"p. {ref.page} (label {name})" if name else f"p. {ref.page}"
    return f"{plain(ref.doc_id, MAX_NAME)}, {page}" if several else page


def _cost(trajectory: Trajectory) -> str:
    read, timings = trajectory.pages_read, trajectory.timings
    rounds, where = len(trajectory.rounds), ref_spans(read, several=trajectory.several)
    pages = f"{len(read)} {_plural(len(read), 'page')} read" + (f" ({where})" if read else "")
    line = f"{rounds} {_plural(rounds, 'round')}, {pages}, {timings.get('total', 0.0):.1f} s"
    if "indexing" in timings:
        line += f" after {timings['indexing']:.1f} s of opening and indexing"
    lines = ["Cost", f"  {line}", f"  stopped: {trajectory.stop} ({_WHY[trajectory.stop]})"]
    lines += [f"  model: {spending(trajectory.usage)}"] if trajectory.usage.calls else []
    for doc_id, known in trajectory.documents.items():
        lines += _document(known, f" of {plain(doc_id, MAX_NAME)}" if trajectory.several else "")
    errors = [*trajectory.errors, *(error for record in trajectory.rounds for error in record.errors)]
    lines += [f"  error in {error.step}: {error.kind}: {error.message}" for error in errors]
    return "\n".join(lines)


def _document(known: Mapping[str, Any], whose: str) -> list[str]:
    """What was special about reading a document."""
    lines = []
    if known.get("ocred"):
        lines.append(f"  read by OCR: {_plural(len(known['ocred']), 'page')} {spans(known['ocred'])}{whose}")
    for page, why in known.get("failed", {}).items():
        lines.append(f"  page {page}{whose} failed and was skipped: {plain(str(why), 200)}")
    if known.get("warning"):
        lines.append(f"  the file{whose}: {plain(str(known['warning']), 200)}")
    return lines


def spending(usage: Usage) -> str:
    """What calls of a model cost: `3 calls, 5,200 tokens read, 310 written, cost 0.0123`."""
    line = f"{usage.calls} {_plural(usage.calls, 'call')}, {usage.prompt_tokens:,} tokens read"
    line += f", {usage.completion_tokens:,} written"
    return line + (f", cost {usage.cost:.4f}" if usage.cost else "")


def _plural(count: int, noun: str) -> str:
    return noun if count == 1 else f"{noun}s"
