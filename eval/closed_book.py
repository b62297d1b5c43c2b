"""A question answered without any document: what a reader knows or guesses by itself."""

import hashlib
import time
from collections.abc import Mapping
from typing import Any, cast

from agent.answer import checked_question
from agent.config import Config
from agent.graph import versions
from agent.models import Model, Request
from agent.trajectory import Trajectory
from agent.types import UNANSWERABLE, DraftAnswer, Plan, Reader, Usage
from agent.verify import abstention, checked
from eval.benchmarks.types import Question
from indexes.files import document_id

PROMPT = """\
# Answer without the document

You are asked about a document that you do not have. Answer from what you know, as short as the question \
allows, nothing but the answer. If you cannot know it, or the question cannot be answered, the answer is \
"Unanswerable".
"""
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "string"}, "confidence": {"type": "number"}},
    "required": ["answer", "confidence"],
    "additionalProperties": False,
}


def answer_alone(question: Question, who: Model | Reader, config: Config) -> Trajectory:
    """Asks a model by its own prompt; a reader of rules answers from no facts, which is to abstain.

    No answer is verified: there is nothing to verify it on.
    """
    text = checked_question(question.question)
    start = time.perf_counter()
    plan = Plan("span", (text,), (text,))
    prompts: dict[str, str] = {}
    if hasattr(who, "complete"):
        reply, usage = _from_model(cast(Model, who), text)
        prompts = {"closed_book": hashlib.sha256(PROMPT.encode()).hexdigest()[:16]}
    else:
        reply = checked(who.answer(text, plan, ()), ())
        usage = reply.usage
    return Trajectory(
        question_id=question.id,
        question=text,
        documents={document_id(path): {} for path in question.documents},
        model=f"pagetrail/{config.name or 'custom'}+closed-book",
        plan=plan,
        rounds=(),
        facts=(),
        reply=reply,
        stop="abstained" if reply.abstains else "answered",
        config=config.model_dump(),
        config_digest=config.digest,
        versions=versions(),
        prompts=prompts,
        timings={"total": round(time.perf_counter() - start, 4)},
        usage=usage,
    )


def _from_model(model: Model, question: str) -> tuple[DraftAnswer, Usage]:
    from agent.readers.generative.replies import ask

    request = Request("closed_book", PROMPT, (f"Question: {question}",), SCHEMA, 300)
    heard = ask(model, request, _read)
    if heard.value is None:
        return abstention("the model's replies could not be used"), heard.usage
    said, confidence = heard.value
    if not said or said.rstrip(".").lower() == UNANSWERABLE.lower():
        return abstention("the model does not know"), heard.usage
    return checked(DraftAnswer(said, (), "from what the model knows", confidence), ()), heard.usage


def _read(reply: Mapping[str, Any]) -> tuple[str, float]:
    said, confidence = reply.get("answer"), reply.get("confidence")
    if not isinstance(said, str | int | float):
        raise ValueError("`answer` is missing")
    number = float(confidence) if isinstance(confidence, int | float) else 0.5
    return str(said).strip(), min(1.0, max(0.0, number))
