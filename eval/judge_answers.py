"""Answers by a chat model: a verdict on the response, or the short answer taken out of it for the rules.

DocScope and FinanceBench: whether the answer is consistent with the gold one. MMLongBench-Doc V2: whether the
response is equivalent to the reference, and whether it abstains. MMLongBench-Doc V1 and LongDocURL keep their
rules, the model only takes the short answer out of the response; XL-DocBench needs no model.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from eval.benchmarks.types import Question
from eval.exports import Prediction
from eval.exports.short import is_abstention
from eval.metrics import xldocbench
from eval.prompts import Role, Template
from eval.rules import Rules
from eval.scoring import AnswerScore
from eval.verdict_forms import flags, short
from eval.verdicts import Ask, Asker, Form

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

T = TypeVar("T")


def gold_answer(question: Question) -> str:
    """The gold answer as DocScope's judges are told it."""
    return question.answer if question.answerable else UNANSWERABLE


class AnswerJudge:
    """Judges the answers of one benchmark.

    Args:
        benchmark: its name.
        asker: asks the model.
        templates: the prompts by role.
        rules: decide where the model does not.

    Attributes:
        role: how the model judges answers; None where it does not.
    """

    def __init__(
        self, benchmark: str, asker: Asker, templates: Mapping[Role, Template], rules: Rules
    ) -> None:
        self.role = ROLES.get(benchmark)
        self._asker, self._templates, self._rules = asker, templates, rules

    def answer(self, question: Question, prediction: Prediction) -> AnswerScore:
        """A model's verdict, or the benchmark's rules on the short answer that a model took out."""
        if self.role == "answer":
            return self._consistent(question, prediction)
        if self.role == "equivalence":
            return self._equivalent(question, prediction)
        given = prediction.several or (prediction.has_tag and prediction.answer == prediction.text)
        if self.role == "extraction" and not given:
            taken = self._extracted(question, prediction)
            if taken is None:
                return AnswerScore(None, False)
            prediction = replace(prediction, answer=taken)
        return self._rules.answer(question, prediction)

    def _consistent(self, question: Question, prediction: Prediction) -> AnswerScore:
        values = {
            "question": question.question,
            "gold_answer": gold_answer(question),
            "model_answer": prediction.answer if prediction.has_tag else prediction.text,
        }
        verdict = self._ask(question, "answer", values, flags("consistent"))
        abstained = is_abstention(prediction.answer) or xldocbench.abstains(prediction.answer)
        return AnswerScore(None if verdict is None else float(verdict["consistent"]), abstained)

    def _equivalent(self, question: Question, prediction: Prediction) -> AnswerScore:
        values = {
            "question": " ".join(question.question.split()),
            "reference": question.answer,
            "answer_format": question.answer_format,
            "response": (prediction.text or prediction.answer)[:MAX_RESPONSE],
        }
        verdict = self._ask(question, "equivalence", values, flags("equivalent", "abstained"))
        if verdict is None:
            return AnswerScore(None, False)
        return AnswerScore(float(verdict["equivalent"]), verdict["abstained"])

    def _extracted(self, question: Question, prediction: Prediction) -> str | None:
        values = {
            "question": question.question,
            "answer_format": question.answer_format,
            "response": (prediction.text or prediction.answer)[:MAX_RESPONSE],
        }
        return self._ask(question, "extraction", values, short())

    def _ask(self, question: Question, role: Role, values: Mapping[str, object], form: Form[T]) -> T | None:
        return self._asker.ask(Ask(question.id, role, None, self._templates[role].fill(values), form))
