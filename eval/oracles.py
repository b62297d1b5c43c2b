"""What a reader answers when it is given the evidence, or none: the settings of the oracle study.

Gold pages: the reader reads the gold pages and no others. Gold regions: of these pages it sees only what lies
in the gold regions, with the header cells and the caption of a table that they cut. Gold facts: they stand in
the ledger too. Controls: every page as text, every page as pictures, no document at all.

All but the last two go through the graph's own nodes, for any reader. (DocScope's oracle study,
arXiv:2605.08888.)
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from agent.answer import checked_question
from agent.config import Config
from agent.graph import ask
from agent.models import Model
from agent.replay import replay
from agent.state import Run
from agent.trajectory import Trajectory
from agent.types import EvidenceRegion, Fact, Plan, Reader
from eval.benchmarks.types import Question
from eval.closed_book import answer_alone
from eval.windows import Window, only_pictures, within
from indexes.errors import InputError
from indexes.types import BBox, PageRef
from retrieval.types import RetrievedPage

if TYPE_CHECKING:
    from indexes.document import Document

MOST = 100
"""Pages that a round may read."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a setting is made from: the question with its gold, its open documents, the reader.

    Attributes:
        model: of a reader that is one; only a setting without documents asks it itself.
    """

    question: Question
    documents: "Sequence[Document]"
    reader: Reader
    config: Config
    model: Model | None = None


@dataclass(frozen=True, slots=True)
class Oracle:
    """A setting: what it gives, what the question must have for it, and how it is asked."""

    title: str
    needs: Callable[[Question], bool]
    ask: Callable[[Given], Trajectory]
    opens: bool = True


class GoldRetriever:
    """Ranks pages that are known beforehand, in their order."""

    def __init__(self, refs: Sequence[PageRef], regions: Mapping[PageRef, Sequence[BBox]]) -> None:
        self._refs, self._regions = list(refs), regions

    def retrieve(self, query: str, k: int, exclude: Collection[PageRef] = ()) -> list[RetrievedPage]:
        """The pages that are not in `exclude`."""
        left = [ref for ref in self._refs if ref not in exclude][:k]
        return [
            RetrievedPage(ref, 1.0, rank, tuple(self._regions.get(ref, ())), ("given",))
            for rank, ref in enumerate(left, start=1)
        ]


def _boxes(question: Question) -> dict[PageRef, list[BBox]]:
    found: dict[PageRef, list[BBox]] = {}
    for region in question.gold_regions:
        found.setdefault(region.ref, []).append(region.bbox)
    return found


def _ask(given: Given, documents: Sequence[Any], refs: Sequence[PageRef], name: str) -> Trajectory:
    """Asks with some pages for all there is to retrieve."""
    sizes = {document.doc_id: len(document) for document in documents}
    there = [ref for ref in refs if ref.page <= sizes.get(ref.doc_id, 0)]
    if not there:
        raise ValueError("none of the gold pages is in the documents")
    k = min(len(there), MOST)
    budget = {"k": k, "rounds": -(-len(there) // k), "max_pages": len(there)}
    config = Config(**{**given.config.model_dump(), **budget}, name=given.config.name)
    retriever = GoldRetriever(there, _boxes(given.question))
    run = Run(documents, retriever, given.reader, config)
    asked = checked_question(given.question.question)
    left = ask(asked, run, question_id=given.question.id, model=_model(given, name))
    return replace(left, documents=_known(documents))


def _model(given: Given, name: str) -> str:
    return f"pagetrail/{given.config.name or 'custom'}+{name}"


def _known(documents: Sequence[Any]) -> dict[str, dict[str, Any]]:
    return {document.doc_id: {"sha256": document.sha256, "pages": len(document)} for document in documents}


def gold_pages(given: Given) -> Trajectory:
    """The gold pages and no others are read."""
    return _ask(given, given.documents, given.question.gold_pages, "gold-pages")


def gold_regions(given: Given) -> Trajectory:
    """Of the gold pages only what lies in the gold regions is seen."""
    boxes = _boxes(given.question)
    windows = [
        Window(
            document,
            lambda page: within(page, boxes.get(page.ref, ())),
        )
        for document in given.documents
    ]
    return _ask(given, windows, list(boxes), "gold-regions")


def gold_facts(given: Given) -> Trajectory:
    """The ledger holds the gold facts before what was read in the gold regions."""
    question, run = given.question, gold_regions(given)
    if run.failure is not None:  # a replay would answer over it
        return replace(run, model=_model(given, "gold-facts"))
    regions = {region.id: EvidenceRegion(region.ref, region.bbox) for region in question.gold_regions}
    told = [fact for fact in question.gold_facts if fact.region in regions]
    gold = tuple(
        Fact(f"f{i}", f.text, f.text, (regions[f.region],), "exact", 1, 1.0, best_part(f.text, run.plan))
        for i, f in enumerate(told, 1)
    )
    names = {fact.id: f"f{len(gold) + i}" for i, fact in enumerate(run.facts, 1)}
    rounds = [replace(r, facts=tuple(names[name] for name in r.facts if name in names)) for r in run.rounds]
    rounds[0] = replace(rounds[0], facts=(*(fact.id for fact in gold), *rounds[0].facts))
    read = tuple(replace(fact, id=names[fact.id]) for fact in run.facts)
    begun = replace(run, model=_model(given, "gold-facts"), facts=(*gold, *read), rounds=tuple(rounds))
    return replay(begun, len(rounds), given.reader)


def best_part(text: str, plan: Plan) -> int:
    """The part of a plan with which a text shares most words; the first of equals."""
    words = set(text.lower().split())
    shared = [len(words & set(part.lower().split())) for part in plan.parts]
    return max(range(len(shared)), key=lambda i: (shared[i], -i))


def document_text(given: Given) -> Trajectory:
    """All pages are read in order; the config has the reader see no pictures."""
    return _ask(given, given.documents, _all(given.documents), "document-text")


def document_images(given: Given) -> Trajectory:
    """All pages are read in order, as pictures."""
    windows = [Window(document, only_pictures) for document in given.documents]
    return _ask(given, windows, _all(given.documents), "document-images")


def _all(documents: "Sequence[Document]") -> list[PageRef]:
    return [PageRef(d.doc_id, page) for d in documents for page in range(1, len(d) + 1)]


def closed_book(given: Given) -> Trajectory:
    """No document at all."""
    return answer_alone(given.question, given.model or given.reader, given.config)


ORACLES: dict[str, Oracle] = {
    "gold-pages": Oracle("gold pages", lambda q: bool(q.gold_pages), gold_pages),
    "gold-regions": Oracle("gold pages and regions", lambda q: bool(q.gold_regions), gold_regions),
    "gold-facts": Oracle(
        "gold pages, regions and facts", lambda q: bool(q.gold_regions and q.gold_facts), gold_facts
    ),
    "document-text": Oracle("full document as text", lambda q: True, document_text),
    "document-images": Oracle("full document as pictures", lambda q: True, document_images),
    "closed-book": Oracle("no document", lambda q: True, closed_book, opens=False),
}
"""The settings by name."""


def find_oracle(name: str) -> Oracle:
    """The setting of a name.

    Raises:
        InputError: there is none.
    """
    if name not in ORACLES:
        raise InputError(f"no setting {name!r}; there are agent, {', '.join(ORACLES)}")
    return ORACLES[name]
