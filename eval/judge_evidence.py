"""Regions and facts by a chat model, as in DocScope: one request a page that is gold and cited.

A request for regions has the page's picture, with all its gold regions drawn green and the predictions red;
one for facts has all the page's gold facts and the whole response.
"""

import json
from collections.abc import Mapping, Sequence

from eval.benchmarks.types import GoldFact, GoldRegion, Question
from eval.exports import Prediction
from eval.judge_answers import gold_answer
from eval.metrics.regions import LABELS, Label
from eval.overlay import DPI, VERSION, PagePictures, draw_boxes
from eval.prompts import Role, Template
from eval.rules import Rules
from eval.verdict_forms import items
from eval.verdicts import Ask, Asker, Failure
from indexes.errors import InputError
from indexes.types import BBox, PageRef

FACT_LABELS = ("consistent", "not_consistent")


class EvidenceJudge:
    """Judges cited regions and stated facts.

    Args:
        text: asks the model that judges facts.
        sees: asks the model that judges regions; where it sees no pictures they are labelled by `rules`.
        templates: the prompts by role.
        rules: label regions by overlap.
    """

    def __init__(self, text: Asker, sees: Asker, templates: Mapping[Role, Template], rules: Rules) -> None:
        self._text, self._sees, self._templates, self._rules = text, sees, templates, rules
        self._pages = PagePictures()

    def close(self) -> None:
        """Closes the documents whose pages were drawn."""
        self._pages.close()

    def regions(self, question: Question, prediction: Prediction) -> dict[str, Label | None]:
        """Labels of the gold regions on pages that are cited, a request a page.

        A page on which no box is cited needs no judge: nothing on it is covered.
        """
        if not self._sees.model.sees:
            return self._rules.regions(question, prediction)
        found: dict[str, Label | None] = {}
        for page in _cited(question, prediction):
            gold = [region for region in question.gold_regions if region.ref == page]
            boxes = prediction.boxes_on(page)
            if not boxes:
                found |= dict.fromkeys((region.id for region in gold), "not_covered")
            elif gold:
                found |= self._page_labels(question, page, gold, boxes)
        return found

    def _page_labels(
        self, question: Question, page: PageRef, gold: Sequence[GoldRegion], boxes: Sequence[BBox]
    ) -> dict[str, Label | None]:
        ids = [f"g{number}" for number in range(1, len(gold) + 1)]
        try:
            path = question.document_of(page)
            size, content = self._pages.size(path, page.page), self._pages.content(path)
        except (InputError, ValueError) as error:
            self._sees.failed(Failure(question.id, "region", page.page, f"no picture: {error}"))
            return dict.fromkeys((region.id for region in gold), None)
        values = {
            "question": question.question,
            "gold_answer": gold_answer(question),
            "gt_page": page.page,
            "gold_total_on_page": len(gold),
            "gold_facts_block": "\n".join(map(_region_line, ids, gold, [size] * len(gold))),
            "n_pred": len(boxes),
            "pred_bboxes_norm": [[round(v, 4) for v in box.as_list()] for box in boxes],
        }
        golds = [region.bbox for region in gold]
        ask = Ask(
            question_id=question.id,
            kind="region",
            page=page.page,
            prompt=self._templates["region"].fill(values),
            form=items(ids, LABELS),
            picture=lambda: draw_boxes(self._pages.render(path, page.page), golds, boxes),
            seen=json.dumps([content, page.page, DPI, VERSION, [b.as_list() for b in (*golds, *boxes)]]),
        )
        labels = self._sees.ask(ask) or {}
        return {region.id: labels.get(name) for name, region in zip(ids, gold, strict=True)}

    def facts(self, question: Question, prediction: Prediction) -> dict[str, bool | None]:
        """Whether the gold facts on pages that are cited are said, a request a page."""
        places = {region.id: region.ref for region in question.gold_regions}
        found: dict[str, bool | None] = {}
        for page in _cited(question, prediction):
            here = [fact for fact in question.gold_facts if places.get(fact.region) == page]
            if here:
                others = [fact for fact in question.gold_facts if places.get(fact.region) != page]
                found |= self._page_facts(question, prediction, page, here, others)
        return found

    def _page_facts(
        self,
        question: Question,
        prediction: Prediction,
        page: PageRef,
        facts: Sequence[GoldFact],
        others: Sequence[GoldFact],
    ) -> dict[str, bool | None]:
        values = {
            "question": question.question,
            "gt_page": page.page,
            "gold_facts_block": "\n".join(f"id={fact.id} :: {fact.text}" for fact in facts),
            "sibling_facts": "; ".join(fact.text for fact in others) or "(none)",
            "model_raw": prediction.text,
        }
        prompt = self._templates["fact"].fill(values)
        form = items([fact.id for fact in facts], FACT_LABELS)
        labels = self._text.ask(Ask(question.id, "fact", page.page, prompt, form)) or {}
        return {fact.id: _is_consistent(labels.get(fact.id)) for fact in facts}


def _cited(question: Question, prediction: Prediction) -> list[PageRef]:
    """The gold pages that are cited, in order."""
    return sorted(set(question.gold_pages) & set(prediction.pages or ()))


def _is_consistent(label: str | None) -> bool | None:
    return None if label is None else label == "consistent"


def _region_line(name: str, region: GoldRegion, size: tuple[int, int]) -> str:
    """A region as the public templates expect it, its box in pixels of the picture."""
    width, height = size
    box = [round(v * (width, height)[i % 2], 1) for i, v in enumerate(region.bbox.as_list())]
    index, kind = name.removeprefix("g"), region.element_type or "unknown"
    return f"id={name} :: index_on_page={index}, element_type={kind}, gold_bbox_px={box}"
