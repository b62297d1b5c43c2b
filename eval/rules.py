"""Judging without a model: answers by the benchmark's rules or ours, regions by overlap, facts by words."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from eval.benchmarks.types import Question
from eval.exports import Prediction
from eval.exports.short import is_abstention, shorten
from eval.metrics import answers, longdocurl, mmlongbench, xldocbench
from eval.metrics.facts import word_support
from eval.metrics.regions import Label, geometric_label
from eval.scoring import AnswerScore


def _mmlongbench_v1(question: Question, prediction: Prediction) -> AnswerScore:
    pred = shorten(prediction.answer, question.answer_format)
    return AnswerScore(
        mmlongbench.score_answer(question.answer, pred, question.answer_format),
        pred == mmlongbench.NOT_ANSWERABLE,
        mmlongbench.is_unscoreable(question.answer, pred, question.answer_format),
    )


def _mmlongbench_v2(question: Question, prediction: Prediction) -> AnswerScore:
    """V1's rules; unanswerable: right where the answer abstains or is what its gold names as right as well.

    Such a gold answer is `Not answerable or 0 or none`; who says 0 is right and does not abstain.
    """
    if question.answerable:
        return _mmlongbench_v1(question, prediction)
    abstained = is_abstention(prediction.answer)
    _, *others = question.answer.casefold().split(" or ")
    said = prediction.answer.strip().strip("\"'.").casefold()
    return AnswerScore(float(abstained or said in others), abstained)


def _longdocurl(question: Question, prediction: Prediction) -> AnswerScore:
    given = prediction.several or (prediction.answer,)
    preds = [shorten(answer, question.answer_format) for answer in given]
    form = question.answer_format
    return AnswerScore(
        max(longdocurl.score_answer(question.answer, pred, form) for pred in preds),
        all(is_abstention(pred) for pred in preds),
        all(longdocurl.is_unscoreable(question.answer, pred, form) for pred in preds),
    )


def _xldocbench(question: Question, prediction: Prediction) -> AnswerScore:
    found = xldocbench.score_answer(question.answer, prediction.answer, question.answer_format)
    more = {"token_f1": found["token_f1"], "anls": found["anls"]}
    return AnswerScore(found["accuracy"], xldocbench.abstains(prediction.answer), more=more)


def _any_form(question: Question, prediction: Prediction) -> AnswerScore:
    right = answers.score_answer(question.answer, prediction.answer, answerable=question.answerable)
    return AnswerScore(float(right), xldocbench.abstains(prediction.answer))


@dataclass(frozen=True, slots=True)
class AnswerRule:
    """How answers of a benchmark are scored without a model, and what tables call it."""

    name: str
    score: Callable[[Question, Prediction], AnswerScore]


ANSWERS: dict[str, AnswerRule] = {
    "docscope": AnswerRule("rules of ours, in place of the paper's judge", _any_form),
    "mmlongbench-v1": AnswerRule("the benchmark's rules; short answers taken out by rules", _mmlongbench_v1),
    "mmlongbench-v2": AnswerRule(
        "the rules of V1, in place of V2's judge; short answers taken out by rules", _mmlongbench_v2
    ),
    "longdocurl": AnswerRule("the benchmark's rules; short answers taken out by rules", _longdocurl),
    "xldocbench": AnswerRule("the benchmark's rules", _xldocbench),
    "financebench": AnswerRule("rules of ours, in place of people", _any_form),
}


class Rules:
    """Judging without a model."""

    def __init__(self, benchmark: str) -> None:
        self._answers = ANSWERS[benchmark]
        self.names: Mapping[str, str] = {
            "answers": self._answers.name,
            "regions": "overlap (gold recall), in place of the paper's judge",
            "facts": "word support, in place of the paper's judge",
        }

    def answer(self, question: Question, prediction: Prediction) -> AnswerScore:
        """By the benchmark's rules, or by ours where it has none."""
        return self._answers.score(question, prediction)

    def regions(self, question: Question, prediction: Prediction) -> dict[str, Label | None]:
        """By how much of a region the boxes on its page hold."""
        cited = set(prediction.pages or ())
        return {
            region.id: geometric_label(region.bbox, prediction.boxes_on(region.ref))
            for region in question.gold_regions
            if region.ref in cited
        }

    def facts(self, question: Question, prediction: Prediction) -> dict[str, bool | None]:
        """By whether the prose says a fact in its own words and numbers."""
        cited = set(prediction.pages or ())
        places = {region.id: region.ref for region in question.gold_regions}
        found: dict[str, bool | None] = {}
        for fact in question.gold_facts:
            page = places.get(fact.region)
            if page in cited:
                sentences = [sentence for sentence, ref in prediction.sentences if ref == page]
                found[fact.id] = word_support(fact.text, prediction.said, sentences)
        return found
