"""Grounding: what a reader says becomes regions on the page and a word on how the page bears it out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent.citations import round_outward
from agent.matching import Match, PageText, is_number, tokens
from agent.passages import find_passage
from agent.places import WHOLE_PAGE, Place, blocked, celled, filled, ranged, snapped
from agent.sifting import Sifted
from agent.statements import find_statement
from agent.support import pieced_together, verify_fact
from agent.types import EvidenceRegion, FactDraft, Support
from indexes.plain import plain
from indexes.types import BBox

MAX_REGIONS = 12
MAX_TEXT = 1500  # characters of a statement or a quote that are kept
MAX_QUOTE = 20_000  # characters that are looked for
REST = 0.5  # of a statement's words, from which it says what only orders to the reader tell
NARROW = 0.75  # share of a statement's words that narrow a block to where they stand


@dataclass(frozen=True, slots=True)
class Grounded:
    """A draft that stands on the page; `notes` say what of it did not."""

    draft: FactDraft
    text: str
    quote: str
    regions: tuple[EvidenceRegion, ...]
    support: Support
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dropped:
    """A draft that stands nowhere, and why."""

    draft: FactDraft
    reason: str


def evidence(sifted: Sifted) -> PageText:
    """A page as facts are grounded on it: without the words that are addressed to its reader."""
    return PageText(sifted.page, sifted.whole, sifted.words, sifted.told)


def ground(draft: FactDraft, page: PageText, seen: Sequence[BBox] = ()) -> Grounded | Dropped:
    """Turns what a draft points at into tight regions of its page.

    Word ranges, which only rules give, are trusted most. Then come the blocks, narrowed to the quote where it
    is found in them; the quote, word by word or nearly so, anywhere on the page; cells of tables, with their
    rows; the model's own box, snapped to the words or the picture it covers; and where there is none of these
    and no quote to contradict it, the words or numbers of the statement itself, then what retrieval matched.
    The whole page is no region unless one block fills it or the quote does.

    What rests on words that are addressed to the page's reader is dropped, whatever bears it out besides.

    Args:
        draft: the fact.
        page: its page.
        seen: where on the page retrieval matched the question, best first.
    """
    text, quote = plain(draft.text, MAX_QUOTE), plain(draft.quote, MAX_QUOTE)
    if not text and not quote:
        return Dropped(draft, f"page {draft.ref.page}: a fact without words")
    place, match = _placed(draft, quote, page, seen)
    if match is None and _points_at_orders(draft, quote, page, place):
        return _ordered(draft)
    place.words -= page.orders
    boxes = place.regions(page.page)
    if not boxes:
        nowhere = "its quote is not on the page" if quote else "nothing on the page says so"
        reason = "; ".join(place.notes) or nowhere
        return Dropped(draft, f"page {draft.ref.page}: {reason}: {text[:80]!r}")
    if match is None and quote:
        match = pieced_together(quote, page, place.words)
    # What a reader counted follows from how much it pointed at: places, or a heading and what is under it.
    pointed = {len(draft.words), len(draft.words) - 1, len(draft.blocks), draft.ref.page}
    counted = frozenset(map(float, pointed))
    verified = verify_fact(text or quote, quote, page, match, visual=place.visual, counted=counted)
    if _says_orders(text or quote, quote, page, verified.missing, found=match is not None):
        return _ordered(draft)
    if len(boxes) > MAX_REGIONS:
        place.notes.append(f"{len(boxes) - MAX_REGIONS} regions beyond {MAX_REGIONS}")
    if verified.missing and verified.support == "none":
        place.notes.append(f"not on the page: {', '.join(verified.missing)}")
    return Grounded(
        draft,
        plain(text or quote, MAX_TEXT),
        plain(quote, MAX_TEXT),
        tuple(EvidenceRegion(draft.ref, round_outward(box)) for box in boxes[:MAX_REGIONS]),
        verified.support,
        tuple(place.notes),
    )


def _ordered(draft: FactDraft) -> Dropped:
    reason = f"page {draft.ref.page}: it rests on words addressed to the page's reader: "
    return Dropped(draft, f"{reason}{plain(draft.text or draft.quote, 80)!r}")


def _points_at_orders(draft: FactDraft, quote: str, page: PageText, place: Place) -> bool:
    """Whether a fact's quote, or the words and the box that it points at, are orders to the reader alone."""
    if page.whole is None:
        return False
    boxed = snapped(draft.bbox, page.page).words if draft.bbox is not None else set()
    if any(words and words <= page.orders for words in (place.words, boxed)):
        return True
    return bool(quote) and page.whole.find(quote) is not None


def _says_orders(text: str, quote: str, page: PageText, missing: Sequence[str], *, found: bool) -> bool:
    """Whether a statement says what the page says in orders to its reader only.

    A number that they tell to say may stand elsewhere too: then only a quote that holds it, and was found,
    bears it out.
    """
    whole = page.whole
    if whole is None:
        return False
    if set(missing) - set(verify_fact(text, "", whole, None).missing):
        return True
    said = tokens(text)
    if {t for t in said if is_number(t) and t in page.told} - set(tokens(quote) if found else ()):
        return True
    words = [t for t in said if len(t) > 2 and not is_number(t)]
    ordered = [t for t in words if t in page.told and t not in page.known]
    return bool(ordered) and len(ordered) >= REST * len(words)


def locate(draft: FactDraft, page: PageText, seen: Sequence[BBox] = ()) -> Grounded:
    """Grounds a statement of anyone's: its text may be the page's own words, or say them otherwise.

    Without a quote the text itself is looked for as one; a text that is none is looked for by most of its
    words, then by its numbers.

    Args:
        draft: the fact.
        page: its page.
        seen: where on the page retrieval matched, best first.

    Returns:
        Its regions, none where nothing on the page says so; `notes` say why.
    """
    quoted = bool(draft.quote.strip())
    result = ground(draft if quoted else replace(draft, quote=draft.text), page, seen)
    if isinstance(result, Grounded) and (quoted or result.support != "none"):
        return result
    bare = ground(replace(draft, quote=""), page, seen)
    if isinstance(bare, Grounded):
        if quoted:
            notes = (*bare.notes, "its quote is not on the page")
            return replace(bare, quote=plain(draft.quote, MAX_TEXT), support="none", notes=notes)
        notes = (*bare.notes, "its words are not the page's") if bare.support == "none" else bare.notes
        return replace(bare, notes=notes)
    reason = result.reason if quoted and isinstance(result, Dropped) else bare.reason
    return Grounded(draft, plain(draft.text, MAX_TEXT), plain(draft.quote, MAX_TEXT), (), "none", (reason,))


def _placed(draft: FactDraft, quote: str, page: PageText, seen: Sequence[BBox]) -> tuple[Place, Match | None]:
    """Where a draft stands, and where its quote does."""
    place = ranged(draft, page.page)
    if place.words:
        match = page.find(quote, place.words) if quote else None
        place.words = _told(draft, quote, page, place.words)
        return place, match
    notes = place.notes
    for pointed in (celled(draft, page.page), blocked(draft, page.page)):
        notes += pointed.notes
        place = place or pointed
    if not place and draft.bbox is not None:
        place = snapped(draft.bbox, page.page)
        notes += place.notes
    match = page.find(quote, place.words) if quote else None
    if match is not None:
        inside = {i for span in match.ranges for i in range(*span)}
        if not place.words or inside & place.words or match.exact:
            return Place(inside, notes=notes), match
    if not place and not quote:
        place = Place({i for span in find_statement(draft.text, page) for i in range(*span)})
    if not place and (not quote or not len(page.page.words)):
        place = _matched(page, seen)
    place = _narrowed(draft, page, place, notes)
    return Place(place.words, place.boxes, place.visual, notes), match


def _matched(page: PageText, seen: Sequence[BBox]) -> Place:
    """What retrieval matched on the page."""
    place = Place()
    for box in seen:
        found = snapped(box, page.page)
        place.words |= found.words
        place.boxes += found.boxes
        place.visual = place.visual or found.visual
    return place


def _narrowed(draft: FactDraft, page: PageText, place: Place, notes: list[str]) -> Place:
    """The part of what was pointed at that says the statement; nothing where that would be the whole page."""
    if not place.words or draft.cells:
        return place
    found = find_passage(draft.text, page.page, place.words)
    if found is not None and found.share >= NARROW and found.numbers:
        inside = {i for span in found.ranges for i in range(*span)}
        if inside <= place.words:
            return Place(inside)
    covered = sum(box.area for box in place.regions(page.page))
    if covered >= WHOLE_PAGE and not filled(page.page):
        notes.append("what it points at is the whole page")
        return Place()
    return place


def _told(draft: FactDraft, quote: str, page: PageText, words: set[int]) -> set[int]:
    """The words of the ranges that the quote tells; ranges of column headers beside a quoted row are not."""
    told = set(tokens(quote))
    kept: set[int] = set()
    for start, end in draft.words:
        inside = [i for i in range(max(0, start), min(end, len(page.tokens))) if page.tokens[i]]
        if sum(page.tokens[i] in told for i in inside) * 2 > len(inside):
            kept.update(range(max(0, start), min(end, len(page.tokens))))
    return kept or words
