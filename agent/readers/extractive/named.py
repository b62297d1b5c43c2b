"""Which of several documents a question names: what another one says does not answer it."""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from agent.readers.extractive.text import fold, stem, tokens
from agent.types import FactDraft

OTHER = 0.5  # of a fact's score where the question names other documents
JOINED = 4  # letters from which a name may stand in the question as several words


def named_documents(question: str, doc_ids: Collection[str]) -> set[str]:
    """The documents whose own names stand in the question; empty where it names none.

    A name's own words are those that not all documents have; years are left out, because a report tells of
    more years than its own.
    """
    ids = list(dict.fromkeys(doc_ids))
    words = {doc_id: _words(doc_id) for doc_id in ids}
    shared = set.intersection(*words.values()) if len(ids) > 1 else set()
    asked = tokens(question)
    stems, joined = {stem(token) for token in asked}, "".join(asked)
    return {
        doc_id
        for doc_id in ids
        if any(
            stem(word) in stems or (len(word) >= JOINED and word in joined) for word in words[doc_id] - shared
        )
    }


def _words(doc_id: str) -> set[str]:
    words = re.findall(r"[^\W_]+", fold(doc_id))
    return {word for word in words if len(word) > 1 and not word.isdigit()}


def of_named(question: str, drafts: Sequence[FactDraft], doc_ids: Collection[str]) -> list[FactDraft]:
    """Drafts whose scores say whether they are of a document that the question names, if it names any."""
    named = named_documents(question, doc_ids)
    if not named:
        return list(drafts)
    return [d if d.ref.doc_id in named else replace(d, score=d.score * OTHER) for d in drafts]
