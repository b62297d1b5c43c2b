"""Reading: pages into calls that fit, replies into fact drafts, regions seen again larger."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agent.config import View
from agent.frames import BoxFrame, to_bbox
from agent.models import Model, ModelError, Request
from agent.readers.generative.memory import facts_text, outline_text, question_text
from agent.readers.generative.pages import (
    SEAM,
    Shown,
    batches,
    matched_blocks,
    page_text,
    picture_of,
)
from agent.readers.generative.prompts import read_prompt
from agent.readers.generative.replies import Heard, ask, ask_all
from agent.readers.generative.safe import as_printed
from agent.readers.generative.schemas import read_schema
from agent.readers.generative.sizes import Sizes
from agent.readers.generative.values import integer, integers, numbers, objects, share, text_of
from agent.types import FactDraft, Reading, ReadTask, Usage
from indexes.types import BBox, Page, PageRef

MAX_FACTS = 40  # of a reply
MAX_ZOOMS = 3  # regions seen again in a round
MAX_SEE = 4
MARGIN = 0.015  # around a region seen again, of the page's sides
ZOOMED = (
    "These are the places that you asked to see again. Record what you can read now. "
    "`region` is the number of the picture; boxes are boxes in it."
)


@dataclass(frozen=True, slots=True)
class Wish:
    """A place that a model asked to see larger."""

    page: Page
    region: BBox


@dataclass
class _Gathered:
    """What the calls of a round gave so far."""

    drafts: list[FactDraft] = field(default_factory=list)
    open: list[set[int]] = field(default_factory=list)
    see: list[PageRef] = field(default_factory=list)
    wishes: list[Wish] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PageReader:
    """Reads pages with a model.

    Attributes:
        frame: what the numbers of the model's boxes mean; None where it sees no pictures.
    """

    model: Model
    view: View
    sizes: Sizes
    frame: BoxFrame | None

    def read(self, task: ReadTask) -> Reading:
        """Reads the pages in as many calls as they need, then the regions that the model wants larger.

        Raises:
            ModelError: no call brought a reply.
        """
        seen = self.frame is not None and task.images is not None
        cells = any(block.cells for page in task.pages for block in page.blocks)
        system, schema = self._instructions(seen=seen, cells=cells, zoom=seen and self.view.zoom)
        told = self._told(task, system, schema)
        room = self.sizes.room(system, schema, told)
        got, failures = _Gathered(), list[ModelError]()
        calls = batches([self._shown(page, task, room, got, seen=seen) for page in task.pages], room)
        contents = [
            (told, *(p for s in call for p in ((s.text, s.picture) if s.picture else (s.text,))))
            for call in calls
        ]
        requests = [Request("read", system, content, schema, self.sizes.reply) for content in contents]
        for call, heard in zip(calls, ask_all(self.model, requests, _checked), strict=True):
            if isinstance(heard, ModelError):
                failures.append(heard)
                got.notes.append(f"read: {heard}")
            else:
                self._take(heard, {s.page.ref.page: s for s in call}, task, got)
        if failures and len(failures) == len(calls):
            raise failures[0]
        if got.wishes and seen and self.view.zoom:
            self._look_again(task, told, got)
        return Reading(
            drafts=tuple(got.drafts),
            missing=_missing(task, got),
            wanted=tuple(dict.fromkeys(got.see)),
            usage=got.usage,
            notes=tuple(got.notes),
        )

    def _instructions(
        self, *, seen: bool, cells: bool, zoom: bool, regions: bool = False
    ) -> tuple[str, Mapping[str, Any]]:
        frame = self.frame if seen else None
        system = read_prompt(frame, marks=self.view.set_of_marks, zoom=zoom, cells=cells)
        return system, read_schema(boxes=seen, zoom=zoom, cells=cells, regions=regions)

    def _told(self, task: ReadTask, system: str, schema: Mapping[str, Any]) -> str:
        """The question, the ledger and the outline, which leave the pages their share."""
        count, asked = self.model.text_tokens, question_text(task.question, task.plan)
        left = self.sizes.room(system, schema, asked) - self.sizes.pages
        known, _ = facts_text(task.facts, count, min(self.sizes.ledger, left))
        outline = outline_text(task.outline, count, min(self.sizes.outline, left - count(known)))
        return "\n\n".join(text for text in (asked, outline, known) if text)

    def _shown(self, page: Page, task: ReadTask, room: int, got: _Gathered, *, seen: bool) -> Shown:
        picture, cost = None, 0
        most = min(self.view.image_tokens, (room - SEAM) // 2)
        if seen and task.images is not None and most > 0:
            try:
                picture = picture_of(page, task.images, self.model, most, marks=self.view.set_of_marks)
            except ValueError as error:
                got.notes.append(f"read: page {page.ref.page} has no picture: {error}")
            cost = self.model.picture_tokens(*picture.image.size) + SEAM if picture else 0
        regions = [box for found in task.retrieved if found.ref == page.ref for box in found.regions]
        count = self.model.text_tokens
        first, several = matched_blocks(page, regions), len(task.documents) > 1
        text = page_text(page, count, room - cost - SEAM, first, several=several)
        return Shown(page, text, picture, count(text) + cost)

    def _take(
        self, heard: Heard[Mapping[str, Any]], shown: Mapping[int, Shown], task: ReadTask, got: _Gathered
    ) -> None:
        """Takes over what a call gave: facts, open parts, pages to see, places to see larger."""
        got.usage += heard.usage
        got.notes += heard.notes
        if heard.value is None:
            return
        reply = heard.value
        if len(reply["facts"]) > MAX_FACTS:
            got.notes.append(f"read: {len(reply['facts'])} facts in a reply; the first {MAX_FACTS} are taken")
        for item in objects(reply["facts"], MAX_FACTS):
            place = _place(item, shown)
            if place is None:
                number = integer(item.get("page"))
                got.notes.append(f"read: a fact on page {number}, which was not shown, is left out")
                continue
            draft = self._draft(item, place, len(task.plan.parts), got)
            if draft is not None:
                got.drafts.append(draft)
        got.open.append({n - 1 for n in integers(reply.get("missing"))})
        refs = {place.page.ref for place in shown.values()}
        doc_id, here = next(iter(refs)).doc_id, {ref.page for ref in refs}
        see = [n for n in integers(reply.get("see"))[:MAX_SEE] if n not in here]
        got.see += [PageRef(doc_id, n) for n in see if n >= 1]
        got.notes += [f"read: page {n}, which it wants to see, does not exist" for n in see if n < 1]
        for wish in objects(reply.get("zoom"), MAX_ZOOMS):
            self._wish(wish, shown, got)

    def _draft(self, item: Mapping[str, Any], place: Shown, parts: int, got: _Gathered) -> FactDraft | None:
        text, quote = text_of(item.get("text"), 1000), as_printed(text_of(item.get("quote"), 1000))
        page = place.page
        if not text and not quote:
            got.notes.append(f"read: a fact without words on page {page.ref.page} is left out")
            return None
        part = (integer(item.get("part")) or 1) - 1
        known = {block.order for block in page.blocks}
        named = integers(item.get("blocks"), 16)
        strange = [n for n in named if n not in known]
        if strange:
            got.notes.append(f"read: page {page.ref.page} has no block {', '.join(map(str, strange))}")
        cells = [integers(c) for c in item["cells"][:32]] if isinstance(item.get("cells"), list) else []
        return FactDraft(
            ref=page.ref,
            text=text or quote,
            quote=quote,
            score=share(item.get("relevance"), 0.5),
            part=part if 0 <= part < parts else 0,
            blocks=tuple(n for n in named if n in known),
            bbox=self._box(item.get("box"), place, got),
            cells=tuple((c[0], c[1], c[2]) for c in cells if len(c) == 3 and min(c) >= 0),
        )

    def _box(self, value: Any, place: Shown, got: _Gathered) -> BBox | None:
        """A box of the reply as a box of the page; None, and a note, where it is none."""
        if not value or place.picture is None or self.frame is None:
            return None
        name = f"read: page {place.page.ref.page}: box {str(value)[:60]}"
        try:
            box = to_bbox(numbers(value), self.frame, place.picture.image.size)
        except ValueError as error:
            got.notes.append(f"{name}: {error}")
            return None
        if box is None:
            got.notes.append(f"{name} lies outside the page or has no area")
        return box if box is None or place.region is None else within_page(box, place.region)

    def _wish(self, wish: Mapping[str, Any], shown: Mapping[int, Shown], got: _Gathered) -> None:
        place = shown.get(integer(wish.get("page")) or 0)
        if place is None or place.picture is None or len(got.wishes) >= MAX_ZOOMS:
            return
        wanted = set(integers(wish.get("blocks")))
        boxes = [block.bbox for block in place.page.blocks if block.order in wanted]
        box = BBox.around(boxes) if boxes else self._box(wish.get("box"), place, got)
        if box is None:
            got.notes.append(f"read: a zoom on page {place.page.ref.page} names no place on it")
            return
        grown = (box.x1 - MARGIN, box.y1 - MARGIN, box.x2 + MARGIN, box.y2 + MARGIN)
        got.wishes.append(Wish(place.page, BBox.clipped(*grown)))

    def _look_again(self, task: ReadTask, told: str, got: _Gathered) -> None:
        """One more call with the regions that the model wants to see larger."""
        cells = any(block.cells for wish in got.wishes for block in wish.page.blocks)
        system, schema = self._instructions(seen=True, cells=cells, zoom=False, regions=True)
        shown: dict[int, Shown] = {}
        content: list[Any] = [told, ZOOMED]
        left = self.sizes.room(system, schema, told, ZOOMED)
        for number, wish in enumerate(got.wishes, start=1):
            most = min(self.view.image_tokens, left // (len(got.wishes) - number + 1) - 4 * SEAM)
            try:
                picture = (
                    task.images
                    and most > 0
                    and picture_of(
                        wish.page,
                        task.images,
                        self.model,
                        most,
                        marks=self.view.set_of_marks,
                        region=wish.region,
                    )
                )
            except ValueError as error:
                got.notes.append(f"read: zoom on page {wish.page.ref.page}: {error}")
                continue
            if not picture:
                continue
            cost = self.model.picture_tokens(*picture.image.size) + 4 * SEAM
            left -= cost
            shown[number] = Shown(wish.page, "", picture, cost, wish.region)
            content += [f"Region {number}, on page {wish.page.ref.page}:", picture]
        if not shown:
            return
        request = Request("read", system, tuple(content), schema, self.sizes.reply)
        try:
            self._take(ask(self.model, request, _checked), shown, task, got)
        except ModelError as error:
            got.notes.append(f"read: zoom: {error}")


def _place(item: Mapping[str, Any], shown: Mapping[int, Shown]) -> Shown | None:
    """Where a fact stands: the region that it names, else its page; the only one shown if it names none."""
    region, page = integer(item.get("region")), integer(item.get("page"))
    if any(place.region for place in shown.values()):
        if region is not None and region in shown:
            return shown[region]
        on_page = [place for place in shown.values() if place.page.ref.page == page]
        return on_page[0] if len(on_page) == 1 else None
    if page is None:
        return next(iter(shown.values())) if len(shown) == 1 else None
    return shown.get(page)


def within_page(box: BBox, region: BBox) -> BBox:
    """A box of a region's picture as a box of the page."""
    wide, high = region.x2 - region.x1, region.y2 - region.y1
    left, top = region.x1, region.y1
    return BBox.clipped(left + box.x1 * wide, top + box.y1 * high, left + box.x2 * wide, top + box.y2 * high)


def _checked(reply: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(reply.get("facts"), list):
        raise ValueError("`facts` is missing: expected a list")
    return reply


def _missing(task: ReadTask, got: _Gathered) -> tuple[int, ...]:
    """Parts that every call leaves open, and those that no fact speaks to whatever the model says."""
    parts = set(range(len(task.plan.parts)))
    spoken = {fact.part for fact in task.facts} | {draft.part for draft in got.drafts}
    still = set.intersection(*got.open) if got.open else parts
    return tuple(sorted((still | (parts - spoken)) & parts))
