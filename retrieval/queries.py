"""A query as the retrievers see it: the part to search for, and its terms with weights."""

import re
from dataclasses import dataclass

from retrieval.finance import Asked, asked
from retrieval.tokens import content_terms, text_terms

_FORM = re.compile(
    r"(?:please\s+|directly\s+|just\s+|only\s+|and\s+)*(?:answer|anwser|round|write|writh|writeh|give|return|format|express|"
    r"represent|respond|provide|list|report|state)\b",
    re.IGNORECASE,
)
_FORMAT_WORDS = re.compile(
    r"\b(?:format|integer|int|float|string|list|decimals?|rounded?|places?|percents?|percentage|yes|usd|millions?|"
    r"billions?|thousands?|dollars?|order|units?|hundred)\b",
    re.IGNORECASE,
)
_KEEP = re.compile(
    r"\b(?:statements?|balance|sheet|table|figure|chart|page|section|p&l|financial|between|which|what)\b",
    re.I,
)
_SENTENCE = re.compile(r"(?<=[.?!])\s+|(?<=[?!])(?=[A-Z])")
_EXAMPLE = re.compile(r"\b(?:e\.g\.|for example|such as)\s*,?\s*\[.*?\]|\(e\.g\..*?\)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Query:
    """A query made ready.

    Attributes:
        text: what is searched for, without instructions on the answer's form.
        terms: its content terms, each once; empty for a query of stop words.
        asked: what the vocabulary of filings makes of it.
    """

    text: str
    terms: tuple[str, ...]
    asked: Asked

    @property
    def weights(self) -> dict[str, float]:
        """The user's own terms, each with weight 1."""
        return dict.fromkeys(self.terms, 1.0)

    @property
    def added(self) -> dict[str, float]:
        """The terms of the phrases that the vocabulary adds, each with weight 1."""
        return {term: 1.0 for phrase in self.asked.say for term in content_terms(text_terms(phrase))}

    @property
    def long_text(self) -> str:
        """The text with the vocabulary's phrases after it."""
        return f"{self.text} {', '.join(self.asked.say)}".strip()


def parse_query(query: str) -> Query:
    """Makes a query ready; its text is never empty unless the query is."""
    text = without_form(query)
    terms = text_terms(text)
    return Query(text, tuple(content_terms(terms)), asked(terms))


def without_form(query: str) -> str:
    """The query without sentences after its first that only say how to write the answer."""
    plain = _EXAMPLE.sub(" ", " ".join(query.split()))
    first, *others = _SENTENCE.split(plain.strip())
    return " ".join([first, *(s for s in others if not _is_form(s))]).strip() or " ".join(query.split())


def _is_form(sentence: str) -> bool:
    return bool(_FORM.match(sentence)) and bool(_FORMAT_WORDS.search(sentence)) and not _KEEP.search(sentence)
