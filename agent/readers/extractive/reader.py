"""The embedded reader: deterministic extraction, no model beyond the retriever's encoder."""

from collections.abc import Sequence

from agent.readers.extractive.answers import draft_answer
from agent.readers.extractive.attempts import names_other_year
from agent.readers.extractive.computing import DERIVED
from agent.readers.extractive.counting import count_drafts
from agent.readers.extractive.evidence import (
    Candidate,
    PageView,
    item_candidates,
    part_candidates,
    view,
    without_repetitions,
)
from agent.readers.extractive.extremes import extreme_drafts
from agent.readers.extractive.lineitems import LineItem, line_item
from agent.readers.extractive.lists import list_drafts
from agent.readers.extractive.matching import covered
from agent.readers.extractive.named import of_named
from agent.readers.extractive.planning import item_years, make_decision, make_plan, part_items
from agent.readers.extractive.question import Analysis, analyse
from agent.readers.extractive.text import content
from agent.types import (
    DecideTask,
    Decision,
    DraftAnswer,
    Fact,
    FactDraft,
    Objection,
    Plan,
    Reading,
    ReadTask,
)
from indexes.encoders.protocol import Encoder
from indexes.types import OutlineEntry, PageRef

FACTS_A_PART = 5  # recorded of a part and a round
MENTIONS = 4  # names looked for on their own
MENTION = 0.1  # score of a fact that only mentions a name
ENOUGH = 0.62  # score from which a part counts as covered


class ExtractiveReader:
    """Finds the rows, cells and sentences that answer, and computes or quotes the answer from them."""

    name = "extractive"

    def __init__(self, encoder: Encoder | None = None) -> None:
        self._encoder = encoder

    def plan(self, question: str, outline: Sequence[OutlineEntry]) -> Plan:
        """Splits the question into line items, alternatives or itself; the outline is not needed for it."""
        return make_plan(question)

    def read(self, task: ReadTask) -> Reading:
        """Reads pages into facts: for each part the best rows and sentences, what can be counted, lists."""
        analysis = analyse(task.question)
        views = without_repetitions([view(page) for page in task.pages if len(page.words)])
        drafts: list[FactDraft] = []
        items = part_items(analysis)
        for place, part in enumerate(task.plan.parts):
            if place < len(items):
                found = _item_rows(views, items[place], item_years(analysis, items[place]))
            else:
                found = part_candidates(views, part, analysis, self._encoder)
            drafts += [c.draft(place) for c in _spread(found)]
        drafts += count_drafts(views, analysis)
        drafts += list_drafts(views, analysis)
        drafts += extreme_drafts(views, analysis)
        if not drafts and items:
            found = part_candidates(views, analysis.text, analysis, self._encoder)
            drafts += [c.draft(0) for c in found[:2]]
        drafts += _mentions(views, analysis, [*(f.text for f in task.facts), *(d.text for d in drafts)])
        drafts = of_named(task.question, drafts, task.documents)
        return Reading(tuple(drafts), _missing(task, drafts), _wanted(task, views, analysis))

    def decide(self, task: DecideTask) -> Decision:
        """Goes back while a part is not covered and the budget lasts."""
        return make_decision(task)

    def answer(
        self, question: str, plan: Plan, facts: Sequence[Fact], objection: Objection | None = None
    ) -> DraftAnswer:
        """Answers from the facts by the question's type, or abstains; once objected to, from the best one."""
        told = facts if objection is None else _best(objection.reply, facts)
        return draft_answer(analyse(question), plan, told)


def _best(reply: DraftAnswer, facts: Sequence[Fact]) -> list[Fact]:
    """The best fact that its page bears out, one that the answer cites where there is one."""
    borne = {fact.id: fact for fact in facts if fact.support != "none"}
    cited = [borne[i] for i in reply.fact_ids if i in borne]
    return sorted(cited or borne.values(), key=lambda fact: -fact.score)[:1]


def _item_rows(views: Sequence[PageView], item: LineItem, wanted: Sequence[int]) -> list[Candidate]:
    """Rows of a line item, and where it has none of its own the rows that it follows from."""
    found = item_candidates(views, item, wanted)
    if item.key in DERIVED and not any(c.row for c in found):
        parts = [item_candidates(views, line_item(key), wanted)[:1] for key in DERIVED[item.key]]
        found = [c for part in parts for c in part]
    return found


def _mentions(views: Sequence[PageView], analysis: Analysis, known: Sequence[str]) -> list[FactDraft]:
    """Where a name of the question stands that no fact holds yet: whether it occurs at all matters later."""
    said = " ".join(known)
    found = []
    for name in analysis.names[:MENTIONS]:
        wanted = content(name)
        if not wanted or covered(wanted, said) == 1.0:
            continue
        for seen in views:
            holders = [
                u for u, own in zip(seen.units, seen.unit_stems, strict=True) if own.issuperset(wanted)
            ]
            if holders:
                found.append(
                    Candidate(seen, MENTION, unit=min(holders, key=lambda u: u.end - u.start)).draft(0)
                )
                break
    return found


def _spread(found: Sequence[Candidate]) -> list[Candidate]:
    """The best candidates, no words twice, and not much worse than the best."""
    kept: list[Candidate] = []
    taken: set[tuple[int, int]] = set()
    for candidate in found:
        if len(kept) == FACTS_A_PART or (kept and candidate.score < 0.5 * kept[0].score):
            break
        piece = candidate.row or candidate.unit
        if piece is None:
            continue
        words = {(candidate.view.page.ref.page, i) for i in range(piece.start, piece.end)}
        if len(words & taken) > 0.5 * len(words):
            continue
        taken |= words
        kept.append(candidate)
    return kept


def _missing(task: ReadTask, drafts: Sequence[FactDraft]) -> tuple[int, ...]:
    best = dict.fromkeys(range(len(task.plan.parts)), 0.0)
    # What a fact says of another year answers nothing: it leaves its part open, so that more pages are read.
    stated = [(f.part, f.score, f.text) for f in task.facts] + [(d.part, d.score, d.text) for d in drafts]
    scored = [(part, score) for part, score, text in stated if not _of_other_year(text, task.question)]
    for part, score in scored:
        best[part] = max(best.get(part, 0.0), score)
    return tuple(part for part, score in best.items() if score < ENOUGH)


def _of_other_year(text: str, question: str) -> bool:
    """True where a fact names years and a question about one year names another."""
    asked = analyse(question)
    return len(asked.years) == 1 and asked.formula is None and names_other_year(text, asked)


def _wanted(task: ReadTask, views: Sequence[PageView], analysis: Analysis) -> tuple[PageRef, ...]:
    """Neighbours of a statement's page: the statements of a filing stand close together."""
    items = part_items(analysis)
    needed = {item.statement for item in items if item.statement}
    seen = {s for v in views for s in v.statements}
    if not needed - seen or not seen:
        return ()
    read = {v.page.ref for v in views}
    pages = [v.page.ref for v in views if len(v.statements) == 1]
    near = [PageRef(r.doc_id, r.page + step) for r in pages for step in (1, -1, 2, -2) if r.page + step >= 1]
    return tuple(ref for ref in dict.fromkeys(near) if ref not in read)
