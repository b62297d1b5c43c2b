"""Judges: a chat model decides on answers, regions and facts, pinned by model, parameters and prompt.

Regions and facts are judged as in DocScope: one request a page that is gold and cited, with all its regions
(drawn green, the predictions red) or facts. Answers: DocScope and FinanceBench by a verdict against the gold
answer, MMLongBench-Doc V2 by its `equivalent` and `abstained`; MMLongBench-Doc V1 and LongDocURL keep their
rules, the model only takes the short answer out of the response; XL-DocBench needs no model. Whatever could
not be judged is None: unscored, listed in `failures`, asked again on the next run.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from agent.models import Model
from eval.benchmarks.types import GoldFact, GoldRegion, Question
from eval.exports import Prediction
from eval.exports.short import is_abstention
from eval.metrics import xldocbench
from eval.metrics.regions import LABELS, Label
from eval.overlay import DPI, VERSION, PagePictures, draw_boxes
from eval.prompts import Role, load_templates
from eval.rules import Rules
from eval.scoring import AnswerScore
from eval.verdict_forms import flags, items, short
from eval.verdicts import Ask, Asker, Failure, Form
from indexes.errors import InputError
from indexes.types import BBox, PageRef

if TYPE_CHECKING:
    from agent.config import Config

UNANSWERABLE = "Unanswerable"
MAX_RESPONSE = 12_000  # characters of a response that V2's judge sees
ROLES: Mapping[str, Role] = {
    "docscope": "answer",
    "financebench": "answer",
    "mmlongbench-v2": "equivalence",
    "mmlongbench-v1": "extraction",
    "longdocurl": "extraction",
}
"""How a model judges answers; a benchmark that is not here needs none."""

FACT_LABELS = ("consistent", "not_consistent")

T = TypeVar("T")


class Judge:
    """Judges the predictions of one benchmark; `eval.scoring` asks it as it asks rules.

    Args:
        benchmark: its name.
        model: judges answers and facts.
        regions: judges regions; `model` if it is not given. Without one that sees pictures they are labelled
            by overlap, which `names` says.
        prompts: a folder of the benchmark's own templates.
        parameters: of the model, such as temperature and seed: a verdict is pinned to them.
        region_parameters: of the model for regions; `parameters` if that is the same model.

    Raises:
        InputError: the templates cannot be used.
    """

    def __init__(
        self,
        benchmark: str,
        model: Model,
        regions: Model | None = None,
        *,
        prompts: Path | None = None,
        parameters: Mapping[str, Any] | None = None,
        region_parameters: Mapping[str, Any] | None = None,
    ) -> None:
        sees = regions or model
        self._role = ROLES.get(benchmark)
        self._rules = Rules(benchmark)
        self._templates = load_templates(prompts)
        self._text = Asker(model, parameters or {})
        self._regions = Asker(sees, (parameters if regions is None else region_parameters) or {})
        self._pages = PagePictures()
        self.names: Mapping[str, str] = self._names()

    def _names(self) -> dict[str, str]:
        names = dict(self._rules.names)
        if self._role == "extraction":
            names["answers"] = (
                f"the benchmark's rules; short answers taken out by {self._named('extraction')}"
            )
        elif self._role:
            names["answers"] = f"judge {self._named(self._role)}"
        if self._regions.model.sees:
            names["regions"] = f"judge {self._named('region')}"
        return names | {"facts": f"judge {self._named('fact')}"}

    def _named(self, role: Role) -> str:
        asker = self._regions if role == "region" else self._text
        return f"{asker.model.name} (prompt {self._templates[role].sha256[:8]})"

    @property
    def pinned(self) -> dict[str, Any]:
        """What verdicts depend on: models, parameters, and the prompts' digests and files."""
        return {
            "model": self._text.model.name,
            "parameters": self._text.parameters,
            "region_model": self._regions.model.name,
            "region_parameters": self._regions.parameters,
            "prompts": {
                role: {"sha256": template.sha256, "file": template.origin}
                for role, template in self._templates.items()
            },
        }

    @property
    def failures(self) -> tuple[Failure, ...]:
        """What could not be judged in this run."""
        return self._text.failures + self._regions.failures

    @property
    def calls(self) -> int:
        """Requests made in this run; verdicts of earlier runs cost none."""
        return self._text.calls + self._regions.calls

    def __enter__(self) -> "Judge":
        return self

    def __exit__(self, *_: object) -> None:
        self._pages.close()

    def prepare(self, pairs: Iterable[tuple[Question, Prediction]], workers: int = 4) -> None:
        """Asks for all verdicts side by side, so that scoring finds them made.

        Raises:
            InputError: a user's mistake, such as a wrong key; verdicts made so far are kept.
        """
        with ThreadPoolExecutor(max_workers=max(1, workers)) as pool:
            futures = [pool.submit(self._all, question, prediction) for question, prediction in pairs]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def _all(self, question: Question, prediction: Prediction) -> None:
        if prediction.failure is None:
            self.answer(question, prediction)
            self.regions(question, prediction)
            self.facts(question, prediction)

    def answer(self, question: Question, prediction: Prediction) -> AnswerScore:
        """A model's verdict, or the benchmark's rules on the short answer that a model took out."""
        if self._role == "answer":
            return self._consistent(question, prediction)
        if self._role == "equivalence":
            return self._equivalent(question, prediction)
        given = prediction.several or (prediction.has_tag and prediction.answer == prediction.text)
        if self._role == "extraction" and not given:
            taken = self._extracted(question, prediction)
            if taken is None:
                return AnswerScore(None, False)
            prediction = replace(prediction, answer=taken)
        return self._rules.answer(question, prediction)

    def _consistent(self, question: Question, prediction: Prediction) -> AnswerScore:
        values = {
            "question": question.question,
            "gold_answer": _gold(question),
            "model_answer": prediction.answer if prediction.has_tag else prediction.text,
        }
        verdict = self._ask(question, "answer", None, values, flags("consistent"))
        abstained = is_abstention(prediction.answer) or xldocbench.abstains(prediction.answer)
        return AnswerScore(None if verdict is None else float(verdict["consistent"]), abstained)

    def _equivalent(self, question: Question, prediction: Prediction) -> AnswerScore:
        values = {
            "question": question.question,
            "reference": question.answer,
            "answer_format": question.answer_format,
            "response": (prediction.text or prediction.answer)[:MAX_RESPONSE],
        }
        verdict = self._ask(question, "equivalence", None, values, flags("equivalent", "abstained"))
        if verdict is None:
            return AnswerScore(None, False)
        return AnswerScore(float(verdict["equivalent"]), verdict["abstained"])

    def _extracted(self, question: Question, prediction: Prediction) -> str | None:
        values = {
            "question": question.question,
            "answer_format": question.answer_format,
            "response": (prediction.text or prediction.answer)[:MAX_RESPONSE],
        }
        taken: str | None = self._ask(question, "extraction", None, values, short())
        return taken

    def regions(self, question: Question, prediction: Prediction) -> dict[str, Label | None]:
        """Labels of the gold regions on pages that are cited, a request a page.

        A page on which no box is cited needs no judge: nothing on it is covered.
        """
        if not self._regions.model.sees:
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
            self._regions.failed(Failure(question.id, "region", page.page, f"no picture: {error}"))
            return dict.fromkeys((region.id for region in gold), None)
        values = {
            "question": question.question,
            "gold_answer": _gold(question),
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
        labels = self._regions.ask(ask) or {}
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
        form = items([fact.id for fact in facts], FACT_LABELS)
        labels = self._ask(question, "fact", page.page, values, form) or {}
        return {fact.id: _is_consistent(labels.get(fact.id)) for fact in facts}

    def _ask(
        self,
        question: Question,
        role: Role,
        page: int | None,
        values: Mapping[str, object],
        form: Form[T],
    ) -> T | None:
        return self._text.ask(Ask(question.id, role, page, self._templates[role].fill(values), form))


def load_judge(
    benchmark: str, config: "Config", region_config: "Config | None" = None, prompts: Path | None = None
) -> Judge:
    """Makes the judge whose models two configs name (`reader`, `reader_model`, `endpoint`, `view`).

    Raises:
        InputError: a config names no model, it cannot be had, or the templates cannot be used.
    """
    from agent.readers import load_model

    return Judge(
        benchmark,
        load_model(config),
        load_model(region_config) if region_config else None,
        prompts=prompts,
        parameters=_parameters(config),
        region_parameters=_parameters(region_config) if region_config else None,
    )


def _parameters(config: "Config") -> dict[str, Any]:
    """What a verdict depends on beside the model's name; where it is served does not enter."""
    if config.endpoint is None:
        return {"reader": config.reader}
    sampling = config.endpoint.model_dump(include={"provider", "temperature", "seed"})
    return {"reader": config.reader, **sampling}


def _cited(question: Question, prediction: Prediction) -> list[PageRef]:
    """The gold pages that are cited, in order."""
    return sorted(set(question.gold_pages) & set(prediction.pages or ()))


def _is_consistent(label: str | None) -> bool | None:
    return None if label is None else label == "consistent"


def _gold(question: Question) -> str:
    return question.answer if question.answerable else UNANSWERABLE


def _region_line(name: str, region: GoldRegion, size: tuple[int, int]) -> str:
    """A region as the public templates expect it, its box in pixels of the picture."""
    width, height = size
    box = [round(v * (width, height)[i % 2], 1) for i, v in enumerate(region.bbox.as_list())]
    index, kind = name.removeprefix("g"), region.element_type or "unknown"
    return f"id={name} :: index_on_page={index}, element_type={kind}, gold_bbox_px={box}"
