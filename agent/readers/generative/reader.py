"""The reader over any generative model: plans, reads, decides, answers, checks, each by its own prompt."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from agent.config import View
from agent.frames import BoxFrame
from agent.models import Model, Request
from agent.readers.generative.answering import Answerer
from agent.readers.generative.deciding import decide
from agent.readers.generative.family import box_frame
from agent.readers.generative.memory import outline_text
from agent.readers.generative.prompts import hashes, prompt
from agent.readers.generative.reading import PageReader
from agent.readers.generative.replies import ask
from agent.readers.generative.safe import safe
from agent.readers.generative.schemas import plan_schema
from agent.readers.generative.sizes import Sizes
from agent.readers.generative.values import texts, truth
from agent.types import (
    AnswerType,
    DecideTask,
    Decision,
    DraftAnswer,
    Fact,
    Objection,
    Plan,
    Reading,
    ReadTask,
)
from indexes.types import OutlineEntry

MAX_PARTS = 8
MAX_QUERIES = 4


class GenerativeReader:
    """A reader that is a model. It keeps nothing between calls: what it knows stands in the run's state.

    Attributes:
        name: of the reader, `chat` or `qwen`.
        prompts: the hash of each role's prompt.
    """

    def __init__(self, model: Model, view: View | None = None, *, name: str = "chat") -> None:
        self.name = name
        self.prompts = hashes()
        self._model, self._view = model, view or View()
        self._sizes = Sizes.of(model, self._view)
        sees = model.sees and self._view.images
        own: BoxFrame = getattr(model, "box_frame", None) or box_frame(model.name)
        frame = (self._view.box_frame or own) if sees else None
        self._pages = PageReader(model, self._view, self._sizes, frame)

    def plan(self, question: str, outline: Sequence[OutlineEntry]) -> Plan:
        """Splits the question; where the model's replies cannot be used, the question itself is the plan.

        Raises:
            ModelError: there was no reply.
        """
        asked = f"Question: {safe(question)}"
        system, schema = prompt("plan"), plan_schema()
        budget = min(self._sizes.outline, self._sizes.room(system, schema, asked))
        told = outline_text(outline, self._model.text_tokens, budget)
        content = (told, asked) if told else (asked,)
        request = Request("plan", system, content, schema, min(600, self._sizes.reply))
        heard = ask(self._model, request, lambda reply: _plan(reply, question))
        made = heard.value or Plan("span", (question,), (question,))
        return Plan(made.answer_type, made.parts, made.queries, heard.usage, heard.notes, made.sweep)

    def read(self, task: ReadTask) -> Reading:
        """Reads pages into facts, in as many calls as fit, and looks again where the model asks to.

        Raises:
            ModelError: no call brought a reply.
        """
        return self._pages.read(task)

    def decide(self, task: DecideTask) -> Decision:
        """Asks whether the facts are enough; no part is given up before a search that looked for it.

        Raises:
            ModelError: there was no reply.
        """
        return decide(task, self._model, self._sizes)

    def answer(
        self, question: str, plan: Plan, facts: Sequence[Fact], objection: Objection | None = None
    ) -> DraftAnswer:
        """Answers from the ledger or abstains, and checks the answer where the config says so.

        With an objection the model is told what it had answered and what speaks against it.

        Raises:
            ModelError: there was no reply.
            UnusableReplyError: the replies could not be used.
        """
        return Answerer(self._model, self._sizes, self._view.check).answer(question, plan, facts, objection)


def _plan(reply: Mapping[str, Any], question: str) -> Plan:
    """A plan whose first query is the question itself, which finds what the model's words miss."""
    kind = str(reply.get("answer_type", "")).strip().lower().replace("/", "_")
    known: tuple[AnswerType, ...] = get_args(AnswerType)
    answer_type = next((k for k in known if k == kind), None)
    queries = texts(reply.get("queries"), 300, MAX_QUERIES)
    if answer_type is None and not queries:
        raise ValueError(f"`answer_type` is {kind[:40]!r} and there are no queries")
    parts = texts(reply.get("parts"), 400, MAX_PARTS) or (question,)
    asked = tuple(dict.fromkeys([question, *queries]))[:MAX_QUERIES]
    return Plan(answer_type or "span", parts, asked, sweep=truth(reply.get("sweep"), False))
