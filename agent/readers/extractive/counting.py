"""What can be counted on a page: figures, tables, occurrences of a word, items of a list."""

import re
from collections.abc import Sequence

from agent.readers.extractive.evidence import PageView
from agent.readers.extractive.question import Analysis
from agent.readers.extractive.text import fold
from agent.types import FactDraft
from indexes.types import LayoutBlock

_FIGURE = re.compile(r"^(?:figure|fig\.?|chart|graph|exhibit)\s*(\d+[\d.]*|[A-Z]\b)", re.IGNORECASE)
_TABLE = re.compile(r"^(?:table|tab\.?)\s*(\d+[\d.]*|[A-Z]\b)", re.IGNORECASE)
_FIGURES = frozenset(("figur", "chart", "graph", "diagram", "imag", "pictur", "photo", "plot"))
_TABLES = frozenset(("tabl",))


_NUMBERED = (
    "appendices appendix chapters chapter sections section parts part steps step phases phase "
    "stages stage modules "
    "module lessons lesson levels level tips tip rules rule reasons reason goals goal objectives "
    "objective exhibits "
    "exhibit questions question items item notes note schedules schedule"
).split()


def numbered_noun(analysis: Analysis) -> str:
    """The singular of what a question counts where such things are numbered or lettered in a document."""
    match = re.search(r"\bhow many (?:\w+ ){0,2}?(" + "|".join(_NUMBERED) + r")\b", fold(analysis.text))
    if not match:
        return ""
    word = match.group(1)
    return "appendix" if word.startswith("append") else word.rstrip("s")


_TYPED: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        r"web ?sites?|web addresses|urls?|links?",
        re.compile(r"(?:https?://|www\.)\S+|\b[\w-]{1,63}\.(?:com|org|net|edu|gov)\b\S*", re.I),
    ),
    (r"e-?mails?(?: addresses)?", re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+\.[\w.]+")),
    (r"(?:twitter |instagram )?(?:accounts?|handles?)", re.compile(r"(?<![\w.])@\w{2,}")),
    (r"(?:tele)?phone numbers?", re.compile(r"\+?\(?\d[\d() .-]{6,}\d")),
)


def typed_pattern(analysis: Analysis) -> re.Pattern[str] | None:
    """What the things that a question counts look like, where they have a form of their own (`@name`)."""
    for noun, pattern in _TYPED:
        if re.search(rf"\bhow many (?:\w+ ){{0,2}}?(?:{noun})\b", fold(analysis.text)):
            return pattern
    return None


def counted_kind(analysis: Analysis) -> str:
    """What is counted over pages: `figure`, `table`, `word`, `numbered` and `typed` things; else empty."""
    if analysis.answer_type != "count":
        return ""
    text = fold(analysis.text)
    if re.search(r"how many times (?:does|do|is|has)\b.*\b(?:appear|occur|mention|use)", text):
        return "word"
    match = re.search(
        r"how many ((?:\w+[ -]){0,3}?)(figures?|charts?|graphs?|diagrams?|images?|pictures?|tables?)\b", text
    )
    if not match:
        return "numbered" if numbered_noun(analysis) else "typed" if typed_pattern(analysis) else ""
    return "table" if match.group(2).startswith("table") else "figure"


def count_drafts(views: Sequence[PageView], analysis: Analysis) -> list[FactDraft]:
    """A fact for each page on which something that the question counts stands."""
    kind = counted_kind(analysis)
    if not kind:
        return []
    found = []
    for seen in views:
        if kind == "word":
            draft = _occurrences(seen, analysis)
        elif kind == "typed":
            draft = _typed(seen, analysis)
        elif kind == "numbered":
            draft = _numbered(seen, numbered_noun(analysis))
        else:
            draft = _captioned(seen, kind)
        if draft is not None:
            found.append(draft)
    return found


def _occurrences(seen: PageView, analysis: Analysis) -> FactDraft | None:
    page = seen.page
    quoted = analysis.names[0] if analysis.names else ""
    wanted = fold(quoted).split()
    if not wanted:
        return None
    words = [re.sub(r"^\W+|\W+$", "", fold(w)) for w in page.words.texts]
    hits = [i for i in range(len(words) - len(wanted) + 1) if words[i : i + len(wanted)] == wanted]
    if not hits:
        return None
    text = f'Page {page.ref.page}: "{quoted}" occurs {len(hits)} times'
    ranges = tuple((i, i + len(wanted)) for i in hits)
    return FactDraft(page.ref, text, quoted, 0.8, 0, ranges)


def _captioned(seen: PageView, kind: str) -> FactDraft | None:
    """Figures or tables of a page: by their captions where there are some, else by the layout's blocks."""
    page = seen.page
    pattern, block_kind = (_FIGURE, "picture") if kind == "figure" else (_TABLE, "table")
    captions: dict[str, LayoutBlock] = {}
    for block in page.blocks:
        match = pattern.match(block.text.strip())
        if match and (block.kind == "caption" or len(block.text) < 300):
            captions.setdefault(match.group(1), block)
    bodies = [b for b in page.blocks if b.kind == block_kind and b.bbox.area > 0.01]
    if captions:
        names = ", ".join(f"{kind} {name}" for name in sorted(captions))
        shown: Sequence[LayoutBlock] = list(captions.values())
        text = f"Page {page.ref.page} shows {len(shown)} {kind}s: {names}"
    elif bodies:
        shown = bodies
        text = f"Page {page.ref.page} shows {len(shown)} {kind}s"
    else:
        return None
    quote = " ".join(" ".join(b.text.split())[:80] for b in shown if b.text).strip() or text
    return FactDraft(page.ref, text, quote, 0.6, 0, (), tuple(b.order for b in shown))


def _typed(seen: PageView, analysis: Analysis) -> FactDraft | None:
    """Different web addresses, e-mail addresses and the like among a page's words."""
    page, pattern = seen.page, typed_pattern(analysis)
    names: dict[str, tuple[int, int]] = {}
    for place, word in enumerate(page.words.texts if pattern else ()):
        match = pattern.search(word) if pattern else None
        if match:
            names.setdefault(match.group().strip(".,;()").lower(), (place, place + 1))
    if not names:
        return None
    text = f"Page {page.ref.page} shows {len(names)} addresses: {', '.join(names)}"
    quote = " ".join(page.words.texts[a] for a, _ in names.values())
    return FactDraft(page.ref, text, quote, 0.6, 0, tuple(names.values()))


def _numbered(seen: PageView, noun: str) -> FactDraft | None:
    """Headings such as `Appendix A`, `Step 3`: lines that begin with the noun and a number or a letter."""
    page = seen.page
    pattern = re.compile(rf"{noun}\s+(\d{{1,2}}|[A-Z]|[IVX]+)\b(?![.,]?\d)", re.IGNORECASE)
    names: dict[str, tuple[int, int]] = {}
    for start, end in page.line_spans():
        line = " ".join(page.words.texts[start:end])
        match = pattern.match(line)
        if match and len(line.split()) <= 14 and not re.search(r"\.{4,}|\s\d{1,3}$", line[match.end() :]):
            names.setdefault(match.group(1).upper(), (start, end))
    if not names:
        return None
    listed = ", ".join(f"{noun} {name}" for name in names)
    text = f"Page {page.ref.page} shows {len(names)} {noun}s: {listed}"
    quote = " ".join(" ".join(page.words.texts[a:b]) for a, b in names.values())
    return FactDraft(page.ref, text, quote, 0.6, 0, tuple(names.values()))


def counted_names(text: str) -> tuple[str, ...]:
    """The names that a fact made here lists, such as `figure 3`; empty where it lists none."""
    match = re.match(r"Page \d+ shows \d+ \w+: (.*)", text)
    return tuple(match.group(1).split(", ")) if match else ()


def read_count(text: str) -> tuple[int, int] | None:
    """Page and number of a fact made here; None for other facts."""
    match = re.match(r"Page (\d+)(?: shows (\d+) \w+s|: \".*\" occurs (\d+) times)", text)
    return (int(match.group(1)), int(match.group(2) or match.group(3))) if match else None
