"""What the agent works with: plan, facts and their regions, decisions, answers, the reader protocol."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from indexes.types import BBox, OutlineEntry, Page, PageRef
from retrieval.types import RetrievedPage

if TYPE_CHECKING:
    from PIL.Image import Image

Support = Literal["exact", "approximate", "none", "visual"]
AnswerType = Literal["span", "number", "count", "list", "comparison", "difference", "yes_no"]
Action = Literal["retrieve", "answer"]

UNANSWERABLE = "Unanswerable"


@dataclass(frozen=True, slots=True)
class Usage:
    """What calls of a model cost.

    Attributes:
        prompt_tokens: read by the model.
        completion_tokens: written by it.
        calls: requests that were answered, by the model or from the request cache.
        cost: in the currency of the config's prices; 0 without prices.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    calls: int = 0
    cost: float = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.calls + other.calls,
            self.cost + other.cost,
        )

    @property
    def total_tokens(self) -> int:
        """Read and written."""
        return self.prompt_tokens + self.completion_tokens


class PageImages(Protocol):
    """Pictures of a document's pages, for readers that see."""

    def render(self, ref: PageRef, dpi: float, region: BBox | None = None) -> "Image":
        """A page as it is seen, or a region of it; raises ValueError where it cannot be rendered."""
        ...


@dataclass(frozen=True, slots=True)
class EvidenceRegion:
    """A place in the document: a page and a box on it."""

    ref: PageRef
    bbox: BBox


@dataclass(frozen=True, slots=True)
class Fact:
    """An atomic statement resting on regions.

    Attributes:
        id: `f1`, `f2`, ... in the order of recording.
        text: the statement, one sentence that can be understood alone.
        quote: the page's own words that say it.
        regions: where those words stand, at least one.
        support: how the page's words bear the statement out.
        round: the round it was recorded in, from 1.
        score: the reader's confidence that the fact matters to the question, 0 to 1.
        part: the part of the question (its place in the plan, from 0) it speaks to.
    """

    id: str
    text: str
    quote: str
    regions: tuple[EvidenceRegion, ...]
    support: Support
    round: int
    score: float = 0.0
    part: int = 0


@dataclass(frozen=True, slots=True)
class FactDraft:
    """A fact as a reader found it, before it is grounded; any of `words` to `cells` says where.

    Attributes:
        words: ranges `(start, end)` of the page's words.
        blocks: `order`s of the page's layout blocks.
        bbox: a box, already normalized.
        cells: cells of tables: the `order` of the table's block, row and column, both from 0.
    """

    ref: PageRef
    text: str
    quote: str
    score: float
    part: int = 0
    words: tuple[tuple[int, int], ...] = ()
    blocks: tuple[int, ...] = ()
    bbox: BBox | None = None
    cells: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """How a question is gone about.

    Attributes:
        answer_type: the kind of answer the question asks for.
        parts: the sub-questions it needs, at least one (often the question itself).
        queries: the first round's queries, at least one.
        usage: what planning cost.
        notes: what the model did wrong meanwhile, such as an unusable reply that was asked for again.
        sweep: whether the answer needs every member of a set (all, how many, which are missing), so that it
            is complete only where all pages were read.
    """

    answer_type: AnswerType
    parts: tuple[str, ...]
    queries: tuple[str, ...]
    usage: Usage = field(default_factory=Usage)
    notes: tuple[str, ...] = ()
    sweep: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reader got out of some pages.

    Attributes:
        drafts: the facts.
        missing: the parts of the plan that are still open.
        wanted: pages worth seeing next.
        usage: what reading cost.
        notes: what the model did wrong meanwhile.
    """

    drafts: tuple[FactDraft, ...]
    missing: tuple[int, ...] = ()
    wanted: tuple[PageRef, ...] = ()
    usage: Usage = field(default_factory=Usage)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether to go back for more (`retrieve`, with queries) or to answer, why, and what deciding cost."""

    action: Action
    reason: str
    queries: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DraftAnswer:
    """An answer from the ledger.

    Attributes:
        text: as short as the question allows; exactly `UNANSWERABLE` for an abstention.
        fact_ids: the facts it rests on; empty for an abstention.
        reason: for an abstention the evidence needed and not found, else how the answer follows.
        expression: of a computed answer, the arithmetic over the facts' numbers, such as `1,577 - 1,212`.
        confidence: 0 to 1.
        usage: what answering cost.
        notes: what the model did wrong meanwhile.
        coverage: of a question about a set, which pages were swept for members and which remain.
        incomplete: whether members may stand on the pages that remain.
        unsupported: why the answer does not follow from its facts, by the reader's own check or by the
            graph's; it is revised, and let through only where the config says so.
    """

    text: str
    fact_ids: tuple[str, ...]
    reason: str
    confidence: float
    expression: str | None = None
    usage: Usage = field(default_factory=Usage)
    notes: tuple[str, ...] = ()
    coverage: str = ""
    incomplete: bool = False
    unsupported: str = ""

    @property
    def abstains(self) -> bool:
        """True where the document does not say."""
        return self.text == UNANSWERABLE


@dataclass(frozen=True, slots=True)
class Objection:
    """What speaks against an answer that is therefore to be revised.

    Attributes:
        reply: the answer.
        why: what does not follow from its facts, such as a number that none of them says.
    """

    reply: DraftAnswer
    why: str


@dataclass(frozen=True, slots=True)
class ReadTask:
    """What a reader is given: the question, its plan, the pages to read now, and what is known already.

    Attributes:
        images: pictures of the pages; None where the run has none (a test, a document without pictures).
        documents: the `doc_id`s of the run's documents; empty where the task does not say.
    """

    question: str
    plan: Plan
    pages: Sequence[Page]
    retrieved: Sequence[RetrievedPage]
    facts: Sequence[Fact]
    outline: Sequence[OutlineEntry]
    images: PageImages | None = None
    documents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DecideTask:
    """What a reader decides from: the ledger, the missing parts, and how many rounds and pages are left.

    Attributes:
        queries: those asked so far.
        rounds_left: 0 also where another budget lets no further round begin.
        round: the one just read, from 1; 0 where it is not known.
        abstained: why an answer from these facts, which were called enough, came to nothing; empty where none
            was tried.
    """

    question: str
    plan: Plan
    facts: Sequence[Fact]
    missing: Sequence[int]
    queries: Sequence[str]
    rounds_left: int
    pages_left: int
    round: int = 0
    abstained: str = ""


class Reader(Protocol):
    """Plans, reads, decides, answers. A reader may be a model or rules; the graph does not know which.

    One that works by prompts may have a mapping `prompts`, from each role to the hash of its prompt, which
    every trajectory then holds.
    """

    name: str

    def plan(self, question: str, outline: Sequence[OutlineEntry]) -> Plan:
        """Splits the question into what must be looked for."""
        ...

    def read(self, task: ReadTask) -> Reading:
        """Reads pages (with their full layout) into fact drafts."""
        ...

    def decide(self, task: DecideTask) -> Decision:
        """Says whether the ledger is enough."""
        ...

    def answer(
        self, question: str, plan: Plan, facts: Sequence[Fact], objection: Objection | None = None
    ) -> DraftAnswer:
        """Answers from the ledger only, or abstains; with an objection it revises its answer.

        An answer that it gives itself without being sure that it follows says why in `unsupported`.
        """
        ...
