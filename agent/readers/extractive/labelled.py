"""Lines of a form, `Inspector: Marek Dvorak`: the label says what the value is."""

import re
from collections.abc import Sequence

from agent.readers.extractive.matching import covered, present, stem_set
from agent.readers.extractive.question import Analysis
from agent.readers.extractive.text import STOPWORDS, fold, stem, tokens, without_references

LABEL_WORDS = 5
_KINDS = frozenset(stem(word) for word in "date day time year name person place location".split())
_LINE = re.compile(r"([A-Z][^:;.?!]{1,50}?)\s?:\s+([^\s:].*)", re.DOTALL)


def label_value(text: str) -> tuple[str, str] | None:
    """Label and value of `Label: value`; None for captions, rows of several labels, and other text."""
    match = _LINE.fullmatch(text.strip())
    if not match or len(match.group(1).split()) > LABEL_WORDS or re.search(r"; [^;:]+: ", match.group(2)):
        return None
    if without_references(match.group(1)) != match.group(1):
        return None
    return match.group(1), match.group(2).strip()


def starts_label(words: Sequence[str]) -> bool:
    """True where a line begins as `Date of inspection: 26 April` does."""
    for place, word in enumerate(words[:LABEL_WORDS]):
        if word.endswith(":"):
            return words[0][:1].isupper() and len(words) > place + 1 and len(word) > 1
    return False


def asked_word(analysis: Analysis) -> str:
    """The question's first interrogative, `who`, `when`, `where` and so on; empty where it has none."""
    match = re.search(r"\b(?:who|whom|when|where|what|which|whose|how|why)\b", fold(analysis.text))
    return match.group().replace("whom", "who") if match else ""


def answers(line: tuple[str, str], analysis: Analysis) -> bool:
    """Whether a line of a form answers: its label meets the question, its value is of the kind asked for."""
    label, value = line
    if is_asked(label, analysis):
        return True
    word, fresh = asked_word(analysis), not stem_set(value) <= stem_set(analysis.text)
    if word == "when":
        return meets(label, analysis) and bool(re.search(r"\b(?:19|20)\d\d\b|\d[/.]\d", value))
    if word in ("who", "where"):
        return meets(label, analysis) and fresh and value[0].isupper() and not re.search(r"\d", value)
    return False


def label_stems(label: str) -> list[str]:
    """The stems of a label's content words."""
    return [stem(t) for t in tokens(label) if t not in STOPWORDS]


def meets(label: str, analysis: Analysis) -> bool:
    """Whether a content word of the question is the label's, as `inspected` is of `Inspector`."""
    own = frozenset(label_stems(label))
    return any(present(w, own) >= 0.6 for w in analysis.content)


def nearness(label: str, analysis: Analysis) -> int:
    """The words of a label that the question holds, less those that it does not; `Date` counts for none."""
    own = [w for w in label_stems(label) if w not in _KINDS]
    asked = frozenset(analysis.content)
    held = sum(any(present(w, frozenset((o,))) >= 0.6 for w in asked) for o in own)
    return 2 * held - len(own)


def is_asked(label: str, analysis: Analysis) -> bool:
    """Whether the question asks for what the label names: `What is the certificate number?`."""
    own = label_stems(label)
    return bool(
        own
        and analysis.target
        and frozenset(own) <= stem_set(analysis.text)
        and covered(analysis.target, label) == 1.0
    )
