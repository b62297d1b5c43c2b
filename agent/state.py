"""What a run knows and what its nodes share: the graph's state, its reducers, and the run's context."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Protocol, TypedDict

from agent.config import Config
from agent.images import DocumentImages
from agent.trajectory import RoundRecord, StepError, StopReason
from agent.types import (
    Decision,
    DraftAnswer,
    EvidenceRegion,
    Fact,
    FactDraft,
    PageImages,
    Plan,
    Reader,
    Usage,
)
from indexes.types import BBox, OutlineEntry, Page, PageRef
from retrieval.types import RetrievedPage, Retriever

if TYPE_CHECKING:
    from PIL.Image import Image


MAX_ORDERS = 2000  # words that pages tell their reader to say

Labels = dict[str, dict[int, str | None]]
"""Printed page labels by document and page: keys that a checkpointer can store."""


class PageSource(Protocol):
    """What the graph needs of a document."""

    doc_id: str
    sha256: str
    outline: tuple[OutlineEntry, ...]

    @property
    def failed(self) -> Mapping[int, str]:
        """Pages that something went wrong with, and what."""
        ...

    def __len__(self) -> int: ...

    def layout(self, numbers: Sequence[int]) -> Mapping[int, Page]:
        """The pages with their full layout."""
        ...

    def render(self, number: int, dpi: float = 144) -> "Image":
        """A page as it is seen; raises ValueError where it cannot be rendered."""
        ...


@dataclass
class Run:
    """What the nodes of one run share beside the state: nothing here needs to survive a restart."""

    documents: Sequence[PageSource]
    retriever: Retriever
    reader: Reader
    config: Config
    clock: Callable[[], float] = time.perf_counter
    pages: dict[PageRef, Page] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._by_id = {document.doc_id: document for document in self.documents}
        if not self._by_id or len(self._by_id) < len(self.documents):
            ids = [document.doc_id for document in self.documents]
            raise ValueError(f"documents {ids}: expected at least one, each with an id of its own")

    @property
    def several(self) -> bool:
        """Whether pages must say whose they are."""
        return len(self.documents) > 1

    @property
    def sizes(self) -> dict[str, int]:
        """How many pages each document has."""
        return {doc_id: len(document) for doc_id, document in self._by_id.items()}

    @property
    def images(self) -> PageImages:
        """Pictures of the pages."""
        return DocumentImages(self._by_id)

    @property
    def outline(self) -> tuple[OutlineEntry, ...]:
        """The outline; of several documents their outlines, each under an entry with the document's id."""
        if not self.several:
            return self.documents[0].outline
        entries: list[OutlineEntry] = []
        for document in self.documents:
            entries.append(OutlineEntry(1, document.doc_id, 1))
            entries += [replace(entry, level=entry.level + 1) for entry in document.outline]
        return tuple(entries)

    def holds(self, ref: PageRef) -> bool:
        """Whether there is such a page."""
        return ref.doc_id in self._by_id and ref.page <= len(self._by_id[ref.doc_id])

    def failed(self, ref: PageRef) -> str | None:
        """What went wrong with a page; None where nothing did."""
        return self._by_id[ref.doc_id].failed.get(ref.page)

    def layout(self, refs: Sequence[PageRef]) -> dict[PageRef, Page]:
        """Pages with their layout; those of the round are kept for recording."""
        missing = [ref for ref in refs if ref not in self.pages]
        if missing:
            self.pages = {ref: page for ref, page in self.pages.items() if ref in refs}
        for doc_id in dict.fromkeys(ref.doc_id for ref in missing):
            found = self._by_id[doc_id].layout([ref.page for ref in missing if ref.doc_id == doc_id])
            self.pages.update({PageRef(doc_id, number): page for number, page in found.items()})
        return {ref: self.pages[ref] for ref in refs if ref in self.pages}


def merge_rounds(old: Sequence[RoundRecord], new: Sequence[RoundRecord]) -> list[RoundRecord]:
    """Reducer: a record replaces the one of its round."""
    by_number = {item.number: item for item in [*old, *new]}
    return [by_number[number] for number in sorted(by_number)]


def merge_facts(old: Sequence[Fact], new: Sequence[Fact]) -> list[Fact]:
    """Reducer: a fact replaces the one with its id; new ones come last."""
    return list({fact.id: fact for fact in [*old, *new]}.values())


def add_pages(old: Sequence[PageRef], new: Sequence[PageRef]) -> list[PageRef]:
    """Reducer: pages in the order they were first seen."""
    return list(dict.fromkeys([*old, *new]))


def merge_labels(old: Labels, new: Labels) -> Labels:
    """Reducer: printed page labels by document and page."""
    return {doc_id: {**old.get(doc_id, {}), **new.get(doc_id, {})} for doc_id in {**old, **new}}


def add_errors(old: Sequence[StepError], new: Sequence[StepError]) -> list[StepError]:
    """Reducer: errors in order."""
    return [*old, *new]


def add_queries(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Reducer: queries in the order they were first asked."""
    return list(dict.fromkeys([*old, *new]))


def add_orders(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Reducer: what pages tell their reader to say, word by word."""
    return list(dict.fromkeys([*old, *new]))[:MAX_ORDERS]


def add_seconds(old: Mapping[str, float], new: Mapping[str, float]) -> dict[str, float]:
    """Reducer: seconds by step, summed."""
    return {
        step: old.get(step, 0.0) + new.get(step, 0.0) for step in [*old, *(s for s in new if s not in old)]
    }


def add_usage(old: Usage, new: Usage) -> Usage:
    """Reducer: what calls cost, summed."""
    return old + new


STORED = (
    BBox,
    Decision,
    DraftAnswer,
    EvidenceRegion,
    Fact,
    FactDraft,
    PageRef,
    Plan,
    RetrievedPage,
    RoundRecord,
    StepError,
    Usage,
)
"""The types in the state: what a checkpointer must be allowed to read back (tuples come back as lists)."""


class State(TypedDict, total=False):
    """What a run knows; plain values only, so that a checkpointer can store it."""

    question: str
    strategy: Plan
    queries: tuple[str, ...]
    asked: Annotated[list[str], add_queries]
    orders: Annotated[list[str], add_orders]
    wanted: tuple[PageRef, ...]
    rounds: Annotated[list[RoundRecord], merge_rounds]
    facts: Annotated[list[Fact], merge_facts]
    seen: Annotated[list[PageRef], add_pages]
    labels: Annotated[Labels, merge_labels]
    drafts: tuple[FactDraft, ...]
    missing: tuple[int, ...]
    reply: DraftAnswer | None
    revised: str | None
    failure: str | None
    stop: StopReason | None
    errors: Annotated[list[StepError], add_errors]
    seconds: Annotated[dict[str, float], add_seconds]
    usage: Annotated[Usage, add_usage]


def answered(state: State) -> tuple[DraftAnswer, StopReason]:
    """The answer of a run and why it came to answer; a state without both is a mistake of ours."""
    reply, stop = state.get("reply"), state.get("stop")
    if reply is None or stop is None:
        raise RuntimeError("the run has not answered yet")
    return reply, stop


def spent(state: State) -> float:
    """Seconds since the run's plan began."""
    return sum(state.get("seconds", {}).values())


def time_for(state: State, run: "Run", timer: "Timer", least: float = 0.0) -> Callable[[], float]:
    """What says how many seconds a step has left that `timer` times: the budget's, `least` in any case."""
    given = max(least, run.config.max_seconds - spent(state))
    return lambda: given - timer()


class Timer:
    """Seconds since it was made."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._start = clock, clock()

    def __call__(self) -> float:
        """Seconds until now."""
        return max(0.0, self._clock() - self._start)
