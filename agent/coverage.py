"""Coverage of a question about a set: which pages were swept for members, which remain, what that means."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from agent.naming import ref_spans
from agent.records import RoundRecord
from agent.types import DraftAnswer, Fact
from indexes.plain import plain
from indexes.types import PageRef

MAX_NAMED = 120  # characters of the pages that a note names


def with_coverage(
    reply: DraftAnswer,
    seen: Sequence[PageRef],
    sizes: Mapping[str, int],
    rounds: Sequence[RoundRecord],
    facts: Sequence[Fact],
) -> DraftAnswer:
    """The answer with a note of what was swept; it is incomplete unless every page was read.

    Args:
        reply: the answer.
        seen: the pages read.
        sizes: how many pages each document has.
        rounds: what was retrieved in each.
        facts: the ledger; the round in which each was found says whether the sweep was still finding any.
    """
    total, several = sum(sizes.values()), len(sizes) > 1
    left = total - len(set(seen))
    if left <= 0:
        return replace(reply, coverage=f"all {total} pages were swept", incomplete=False)
    named = {page.ref for record in rounds for page in record.retrieved} - set(seen)
    note = f"{len(set(seen))} of {total} pages were swept ({_named(seen, several)}); {left} remain"
    if named:
        note += f", {len(named)} of which retrieval ranked ({_named(named, several)})"
    last = rounds[-1].number if rounds else 0
    fresh = any(fact.round == last for fact in facts)
    note += "; the last pages read held new facts" if fresh else "; the last pages read held nothing new"
    return replace(reply, coverage=note, incomplete=True)


def _named(refs: Iterable[PageRef], several: bool) -> str:
    return plain(ref_spans(sorted(refs), several=several), MAX_NAMED)
