"""The ledger: the facts of a run, each once, with ids that never change."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from agent.grounding import Grounded
from agent.matching import same_words, tokens
from agent.types import EvidenceRegion, Fact, Support
from indexes.types import PageRef

MAX_FACTS = 400
MAX_A_PAGE = 40
"""Facts kept of one page in a round, the best by the reader's score: no page crowds out the others."""

_NEAR = 0.9
_RANK: dict[Support, int] = {"exact": 3, "visual": 2, "approximate": 1, "none": 0}


@dataclass(frozen=True, slots=True)
class Recorded:
    """What recording did: the facts that are new or changed, their ids, and what of which page was left."""

    facts: tuple[Fact, ...]
    ids: tuple[str, ...]
    dropped: tuple[tuple[PageRef, str], ...]


def record(ledger: Sequence[Fact], found: Iterable[Grounded], round_number: int) -> Recorded:
    """Adds grounded drafts to a ledger, merging those that say what it knows.

    Two facts are one where they stand on the same page and say the same words or rest on nearly the same
    quote; the first keeps its id and its round, the better supported one its wording.
    """
    facts, changed, ids = list(ledger), {}, []
    best, dropped = _best_of_each_page(found)
    known = {fact.id: _words(fact) for fact in facts}
    for item in best:
        twin = next((i for i, fact in enumerate(facts) if _same_fact(fact, known[fact.id], item)), None)
        if twin is not None:
            facts[twin] = _merged(facts[twin], item)
            fact = facts[twin]
        elif len(facts) >= MAX_FACTS:
            ref = item.draft.ref
            dropped.append((ref, f"page {ref.page}: the ledger is full ({MAX_FACTS} facts)"))
            continue
        else:
            fact = _fact(f"f{len(facts) + 1}", item, round_number)
            facts.append(fact)
        known[fact.id] = _words(fact)
        changed[fact.id] = fact
        ids.append(fact.id)
    return Recorded(tuple(changed.values()), tuple(dict.fromkeys(ids)), tuple(dropped))


def _best_of_each_page(found: Iterable[Grounded]) -> tuple[list[Grounded], list[tuple[PageRef, str]]]:
    """The drafts in the reader's order, without the weakest of a page that has too many."""
    items = list(found)
    by_page: dict[PageRef, list[int]] = {}
    for i, item in enumerate(items):
        by_page.setdefault(item.draft.ref, []).append(i)
    kept: set[int] = set()
    dropped = []
    for ref, places in by_page.items():
        ranked = sorted(places, key=lambda i: -items[i].draft.score)
        kept.update(ranked[:MAX_A_PAGE])
        if len(ranked) > MAX_A_PAGE:
            beyond = len(ranked) - MAX_A_PAGE
            dropped.append((ref, f"page {ref.page}: {beyond} facts beyond the best {MAX_A_PAGE}"))
    return [item for i, item in enumerate(items) if i in kept], dropped


def _words(fact: Fact) -> tuple[list[str], list[str]]:
    return tokens(fact.text), tokens(fact.quote)


def _same_fact(fact: Fact, words: tuple[list[str], list[str]], item: Grounded) -> bool:
    if fact.regions[0].ref != item.draft.ref or fact.part != item.draft.part:
        return False
    text, quote = tokens(item.text), tokens(item.quote)
    if words[0] == text:
        return True
    return bool(quote) and same_words(words[1], quote) >= _NEAR and same_words(words[0], text) > 0


def _merged(fact: Fact, item: Grounded) -> Fact:
    better = (_RANK[item.support], item.draft.score) > (_RANK[fact.support], fact.score)
    score = max(fact.score, _bounded(item.draft.score))
    if better:
        return replace(
            fact,
            text=item.text,
            quote=item.quote,
            support=item.support,
            score=score,
            regions=_joined(item.regions, fact.regions),
        )
    return replace(fact, score=score, regions=_joined(fact.regions, item.regions))


def _joined(first: Sequence[EvidenceRegion], more: Sequence[EvidenceRegion]) -> tuple[EvidenceRegion, ...]:
    """Regions of two tellings of one fact: those of `more` that `first` does not cover come after it."""
    out = list(first)
    for region in more:
        covered = max((region.bbox.intersection(r.bbox) for r in out if r.ref == region.ref), default=0.0)
        if covered < 0.5 * region.bbox.area:
            out.append(region)
    return tuple(out)


def _fact(name: str, item: Grounded, round_number: int) -> Fact:
    return Fact(
        id=name,
        text=item.text,
        quote=item.quote,
        regions=item.regions,
        support=item.support,
        round=round_number,
        score=_bounded(item.draft.score),
        part=item.draft.part,
    )


def _bounded(score: float) -> float:
    """A score within 0 to 1; what is no number counts as nothing."""
    return min(1.0, max(0.0, float(score))) if score == score else 0.0
