"""What was answered to a question, whoever answered it and in whatever format it was written down."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.citations import parse_model_raw
from eval.benchmarks.types import Question
from eval.exports.short import tagged_or_said
from indexes.files import document_id
from indexes.types import BBox, PageRef

MISSING = "missing: the predictions hold no row for this question"


@dataclass(frozen=True, slots=True)
class Prediction:
    """An answer.

    Attributes:
        question_id: the question's id as our loader gives it.
        text: the whole response; empty where there is none.
        answer: the short answer in it: the tagged one, else what the text says last; `text` if neither.
        has_tag: whether the answer was tagged (or given as a short answer of its own).
        failure: why there is no answer; None where there is one. A failure counts as wrong.
        pages: the cited pages; None where the format has no pages, which is not the same as none cited.
        boxes: the cited boxes that are normalized and valid, in the order of the text; None as for `pages`.
        dropped: cited boxes that are neither in `boxes` nor seen by the public region scorer.
        sentences: the cited sentences with the pages that each cites.
        several: further short answers of which the best counts (LongDocURL's `multiple_pred`).
        row: the row as it was read.
    """

    question_id: str
    text: str
    answer: str
    has_tag: bool = False
    failure: str | None = None
    pages: tuple[PageRef, ...] | None = None
    boxes: tuple[tuple[PageRef, BBox], ...] | None = None
    dropped: int = 0
    sentences: tuple[tuple[str, PageRef], ...] = ()
    several: tuple[str, ...] = ()
    row: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def said(self) -> str:
        """What the answer says with a citation: all of its text where the format has no sentences."""
        return " ".join(dict.fromkeys(sentence for sentence, _ in self.sentences)) or self.text

    def boxes_on(self, page: PageRef) -> tuple[BBox, ...]:
        """The cited boxes on a page."""
        return tuple(box for ref, box in self.boxes or () if ref == page)


def missing(question: Question) -> Prediction:
    """The prediction of a question that nobody answered."""
    return Prediction(question.id, "", "", failure=MISSING)


def from_row(question: Question, row: Mapping[str, Any]) -> Prediction:
    """Reads a DocScope `infer.jsonl` row, ours or anyone's; a row that says too little is a failure."""
    status, raw = row.get("status", "ok"), row.get("model_raw")
    if status != "ok":
        return Prediction(question.id, "", "", failure=str(status or "error: no status"), row=row)
    parsed: Mapping[str, Any] | None = row["parsed"] if isinstance(row.get("parsed"), dict) else None
    if parsed is None and not isinstance(raw, str):
        why = "error: the row has neither model_raw nor parsed"
        return Prediction(question.id, "", "", failure=why, row=row)
    ids = [document_id(path) for path in question.documents]
    if parsed is None:
        parsed = parse_model_raw(str(raw), ids).as_json()
    text = raw if isinstance(raw, str) else str(parsed.get("reasoning") or "")
    tagged = parsed.get("answer")
    has_tag = isinstance(tagged, str) and bool(tagged) and parsed.get("has_answer_tag") is not False
    found = parsed.get("citations")
    citations = [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []
    refs = [_ref(ids, item.get("page"), item.get("doc")) for item in citations]
    boxes = [(ref, _box(item)) for ref, item in zip(refs, citations, strict=True)]
    return Prediction(
        question_id=question.id,
        text=text,
        answer=str(tagged) if has_tag else tagged_or_said(text),
        has_tag=has_tag,
        pages=_pages(ids, parsed, refs),
        boxes=tuple((ref, box) for ref, box in boxes if ref is not None and box is not None),
        dropped=sum(ref is None or box is None for ref, box in boxes),
        sentences=tuple(
            (str(item.get("sentence", "")), ref)
            for ref, item in zip(refs, citations, strict=True)
            if ref is not None
        ),
        row=row,
    )


def _pages(ids: Sequence[str], parsed: Mapping[str, Any], cited: list[PageRef | None]) -> tuple[PageRef, ...]:
    """The predicted pages. Of one document as the row lists them; of several only citations say whose."""
    refs = list(cited)
    if len(ids) == 1 and isinstance(parsed.get("predicted_pages"), list):
        refs = [_ref(ids, page, None) for page in parsed["predicted_pages"]]
    return tuple(sorted({ref for ref in refs if ref is not None}))


def _ref(ids: Sequence[str], page: object, doc: object) -> PageRef | None:
    """The page that a citation names, None where it names none."""
    if not isinstance(page, int) or isinstance(page, bool):
        return None
    name = ids[0] if len(ids) == 1 else doc
    if not isinstance(name, str) or name not in ids:
        return None
    # A page that no document can have still counts as a wrong page.
    return PageRef(name, page) if page >= 1 else PageRef(f"{name}, page {page}", 1)


def _box(item: Mapping[str, Any]) -> BBox | None:
    """A citation's box; None where it is not marked as normalized (the public scorer drops it) or is none."""
    box = item.get("bbox")
    if item.get("is_normalized") is not True or not isinstance(box, list) or len(box) != 4:
        return None
    try:
        values = [float(value) for value in box]
        if not all(map(math.isfinite, values)):
            return None
        made = BBox(*(min(1.0, max(0.0, value)) for value in values))
    except (TypeError, ValueError, OverflowError):
        return None
    return made if made.area > 0 else None
