"""The cited prose of a DocScope row: how it is written and how it is parsed.

One fact a sentence, its citations just before the period in the strict form
`[page=14, doc_page="12", bbox=[0.1, 0.2, 0.3, 0.4]]`, and last `<answer> ... </answer>`. The parser accepts
what the public one does: `doc_page` single-quoted, bare or missing, one closing bracket instead of two, any
case, the last `<answer>`. Both run in time linear in the text.
"""

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent.naming import document_names
from indexes.plain import plain
from indexes.types import BBox

MAX_SENTENCE = 1200  # characters of a fact in the prose
MAX_LABEL = 40
SPLITTER = "pagetrail-rules"

_NUMBER = r"[-+]?(?:\d+(?:\.\d+)?|\.\d+)"
_CITATION = re.compile(
    r"\[\s*page\s*=\s*(\d+)\s*"
    r"(?:,\s*doc_page\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s,\]]+))\s*)?"
    rf",\s*bbox\s*=\s*\[\s*({_NUMBER})\s*,\s*({_NUMBER})\s*,\s*({_NUMBER})\s*,\s*({_NUMBER})\s*\](?:\s*\])?",
    re.IGNORECASE,
)
_TAG = re.compile(r"<(/?)answer>", re.IGNORECASE)
# What could start a citation or a tag when a document's text is written into the prose.
_CITATION_START = re.compile(r"\[(?=\s*page\s*=)", re.IGNORECASE)
_TAG_LIKE = re.compile(r"<(\s*(?:/\s*)?answer\s*)>", re.IGNORECASE)
_MARKER = re.compile(r"^(?:[-*•>](?:\s+|$))+")
_MAX_PAGE_DIGITS = 9

_TERMINAL = re.compile(r"(?:(?<![.!?])[.!?]++[\"'”’»)\]]*+(?=\s)|[。！？]+)|\n")
_LAST_WORD = re.compile(r"[\w.]+$")
_ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof rev hon jr sr st e.g i.e etc vs cf al approx est ca inc ltd co corp llc bros ph.d m.d "
    "jan feb mar apr jun jul aug sep sept oct nov dec fig figs vol no nos ch sec app eq tab pp p ed eds "
    "n.d".split()
)
_HELD = "\ufffc"  # stands for a citation's characters while sentences are cut
_CONTENT = re.compile(rf"[^{_HELD}\s.,;]")


@dataclass(frozen=True, slots=True)
class Citation:
    """A citation as it stands in a text.

    Attributes:
        page: the 1-based physical page.
        doc_page: the number printed on it, `none` if there is none.
        bbox: four numbers as written, which need not be a valid box.
        sentence: the sentence it belongs to, without citations.
        span_start: its first character in the text; `span_end` is exclusive.
        is_normalized: whether the numbers look normalized (0 to 1.5), not pixels.
        doc: the `doc_id` of the document that it is of, None where the text does not say.
    """

    page: int
    doc_page: str
    bbox: list[float]
    sentence: str = ""
    span_start: int = 0
    span_end: int = 0
    is_normalized: bool = True
    doc: str | None = None

    @property
    def valid(self) -> bool:
        """Whether the numbers are a box on the page with an area."""
        x1, y1, x2, y2 = self.bbox
        return 0 <= x1 < x2 <= 1 and 0 <= y1 < y2 <= 1

    def as_json(self) -> dict[str, object]:
        """The citation as a DocScope row holds it."""
        doc = {} if self.doc is None else {"doc": self.doc}
        return doc | {
            "page": self.page,
            "doc_page": self.doc_page,
            "bbox": list(self.bbox),
            "sentence": self.sentence,
            "span_start": self.span_start,
            "span_end": self.span_end,
            "is_normalized": self.is_normalized,
        }


@dataclass(frozen=True, slots=True)
class ParsedText:
    """What a cited text says.

    Attributes:
        answer: the text of the last answer tag, None without one.
        reasoning: what stands before that tag.
        invalid_citations: those of `citations` whose box is none (reversed, empty or off the page).
        predicted_pages: the cited pages, sorted, each once.
    """

    answer: str | None
    reasoning: str
    citations: list[Citation]
    invalid_citations: list[Citation]
    predicted_pages: list[int]

    @property
    def has_answer_tag(self) -> bool:
        """Whether the text has a closed answer tag."""
        return self.answer is not None

    def as_json(self) -> dict[str, object]:
        """The `parsed` object of a DocScope row."""
        return {
            "answer": self.answer,
            "reasoning": self.reasoning,
            "citations": [citation.as_json() for citation in self.citations],
            "invalid_citations": [citation.as_json() for citation in self.invalid_citations],
            "predicted_pages": self.predicted_pages,
            "has_answer_tag": self.has_answer_tag,
            "sentence_splitter": SPLITTER,
        }


def parse_model_raw(text: str, documents: Sequence[str] = ()) -> ParsedText:
    """Reads answer, citations and cited pages out of a cited text.

    Args:
        text: cited prose.
        documents: the `doc_id`s of the documents it is about, if citations are to say whose they are.
    """
    answer, start = _last_answer(text)
    matches = [m for m in _CITATION.finditer(text) if len(m[1]) <= _MAX_PAGE_DIGITS]
    told = zip(matches, _sentences(text, matches), _documents(text, matches, documents), strict=True)
    citations = [_citation(match, sentence, doc) for match, sentence, doc in told]
    return ParsedText(
        answer=answer,
        reasoning=text if answer is None else text[:start].rstrip(),
        citations=citations,
        invalid_citations=[citation for citation in citations if not citation.valid],
        predicted_pages=sorted({citation.page for citation in citations}),
    )


def _last_answer(text: str) -> tuple[str | None, int]:
    """The last closed answer and where its tag opens; a tag inside an open answer is part of it."""
    answer, start, opened = None, len(text), None
    for tag in _TAG.finditer(text):
        if not tag[1]:
            opened = opened or tag
        elif opened is not None:
            answer, start, opened = text[opened.end() : tag.start()].strip(), opened.start(), None
    return answer, start


def _documents(text: str, matches: Sequence[re.Match[str]], documents: Sequence[str]) -> list[str | None]:
    """Whose each citation is: of several documents the one named just before it, or before its neighbour."""
    if len(documents) < 2:
        return [documents[0] if documents else None for _ in matches]
    by_name = {_mark(name): doc_id for doc_id, name in document_names(documents).items()}
    found: list[str | None] = []
    end = 0
    for match in matches:
        gap = text[end : match.start()].rstrip()
        mark = gap[gap.rfind(_mark("").rstrip(")")) :] if gap.endswith(")") else ""
        found.append(by_name.get(mark) if gap or not found else found[-1])
        end = match.end()
    return found


def _mark(name: str) -> str:
    """How the prose names the document of the citations that follow."""
    return f"(document {name})"


def _citation(match: re.Match[str], sentence: str, doc: str | None) -> Citation:
    bbox = [float(match[i]) for i in range(5, 9)]
    label = (match[2] or match[3] or match[4] or "").strip()
    return Citation(
        page=int(match[1]),
        doc_page=label or "none",
        bbox=bbox,
        sentence=sentence,
        span_start=match.start(),
        span_end=match.end(),
        is_normalized=all(-0.01 <= value <= 1.5 for value in bbox),
        doc=doc,
    )


def _sentences(text: str, matches: Sequence[re.Match[str]]) -> list[str]:
    """The sentence of each citation; one that opens a sentence belongs to the sentence before."""
    parts, last = [], 0
    for match in matches:
        parts += [text[last : match.start()], _HELD * (match.end() - match.start())]
        last = match.end()
    held = "".join([*parts, text[last:]])
    starts = [0, *sentence_ends(held)]
    stops = [*starts[1:], len(held)]
    # Where each sentence's own words begin; a sentence without any hands its citations to the one before.
    found = [_CONTENT.search(held, start, stop) for start, stop in zip(starts, stops, strict=True)]
    owner = [0]
    for at in range(1, len(starts)):
        owner.append(at if found[at] else owner[-1])
    cleaned: dict[int, str] = {}
    out = []
    for match in matches:
        at = bisect_right(starts, match.start()) - 1
        content = found[at]
        if at and (content is None or content.start() >= match.start()):
            at = owner[at - 1]
        if at not in cleaned:
            cleaned[at] = _clean_sentence(held[starts[at] : stops[at]])
        out.append(cleaned[at])
    return out


def _clean_sentence(held: str) -> str:
    text = _MARKER.sub("", " ".join(held.replace(_HELD, " ").split()))
    return re.sub(r" (?=[.!?。！？,;:)\]])", "", text)


def sentence_ends(text: str) -> list[int]:
    """Where sentences end: after a citation's period, a full stop that is no abbreviation's, a line."""
    ends = []
    for match in _TERMINAL.finditer(text):
        cited = match.start() > 0 and text[match.start() - 1] == _HELD
        if cited or match[0] == "\n" or match[0][0] in "。！？":
            ends.append(match.end())
            continue
        after = text[match.end() : match.end() + 40].lstrip()[:1]
        if after and not after.islower() and not (match[0] == "." and _abbreviation(text, match.start())):
            ends.append(match.end())
    return ends


def _abbreviation(text: str, dot: int) -> bool:
    """Whether the full stop at `dot` closes an abbreviation (`Dr.`, `U.S.`, an initial)."""
    word = _LAST_WORD.search(text, max(0, dot - 20), dot)
    if word is None:
        return False
    last = word[0].lower()
    return (
        last in _ABBREVIATIONS
        or (len(last) == 1 and last.isalpha())
        or re.fullmatch(r"(\w\.)+\w", last) is not None
    )


def write_model_raw(
    facts: Iterable[tuple[str, Sequence[Citation]]],
    answer: str,
    lead: str = "",
    documents: Sequence[str] = (),
) -> str:
    """Writes cited prose: `lead` (uncited), one sentence a fact with its citations, then the answer.

    Nothing in the texts can act as a citation, a tag or a second sentence: `parse_model_raw` gives back the
    same citations, `fact_sentence` of each text and `answer_text` of the answer. Of several `documents`, that
    of citations is named before them: `Sales rose (document report-2023) [page=...].`
    """
    names = document_names(documents) if len(documents) > 1 else {}
    sentences = []
    for text, citations in facts:
        cited, last = "", None
        for citation in citations:
            named = f" {_mark(names[citation.doc])}" if citation.doc in names and citation.doc != last else ""
            cited, last = f"{cited}{named} {write_citation(citation)}", citation.doc
        sentences.append(f"{fact_sentence(text) or 'This region shows it'}{cited}.")
    first = fact_sentence(lead)
    # The lead has a line of its own: a fact that begins in lower case would else run on from it.
    lines = [f"{first}." if first else "", " ".join(sentences), f"<answer> {answer_text(answer)} </answer>"]
    return "\n".join(line for line in lines if line)


def write_citation(citation: Citation) -> str:
    """The strict form of a citation; numbers with four decimals."""
    box = ", ".join(f"{value:.4f}" for value in citation.bbox)
    return f'[page={citation.page}, doc_page="{citation.doc_page}", bbox=[{box}]]'


def cite(page: int, label: str | None, bbox: BBox, doc: str | None = None) -> Citation:
    """A citation of a region, its box rounded outward to four decimals, its label made quotable."""
    name = re.sub(r"[\"'\[\]<>]", "", plain(label or "", MAX_LABEL)).strip() or "none"
    return Citation(page=page, doc_page=name, bbox=round_outward(bbox).as_list(), doc=doc)


def round_outward(bbox: BBox) -> BBox:
    """The box on a grid of 1/10000, never smaller than it was and never without an area."""
    x1, y1 = (min(9999, math.floor(value * 10_000 + 1e-6)) for value in (bbox.x1, bbox.y1))
    x2, y2 = (math.ceil(value * 10_000 - 1e-6) for value in (bbox.x2, bbox.y2))
    return BBox(x1 / 10_000, y1 / 10_000, max(x2, x1 + 1) / 10_000, max(y2, y1 + 1) / 10_000)


def fact_sentence(text: str) -> str:
    """A fact's text as one sentence without its full stop, nothing in it a citation or a tag."""
    text = _harmless(plain(text.replace(_HELD, ""), MAX_SENTENCE))
    text = _clean_sentence(text).rstrip(" .,;:!?。！？…")
    for end in reversed(sentence_ends(f"{text} {_HELD}")):
        text = text[:end].rstrip(" .!?。！？") + "; " + text[end:].lstrip()
    return _clean_sentence(text.strip(" ;"))


def answer_text(answer: str) -> str:
    """An answer as it is written inside the tag."""
    return _harmless(plain(answer))


def _harmless(text: str) -> str:
    return _TAG_LIKE.sub(r"(\1)", _CITATION_START.sub("(", text))
