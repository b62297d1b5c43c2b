"""Whatever a model says at whatever step, a run ends within its budget, and its parts add up."""

import json
import random
from dataclasses import replace
from typing import Any

import pytest
from agent_fakes import FakeRetriever, make_run
from generative_fakes import FOLLOWS, FakeModel, SeenDocument, answering, deciding, fact, planning, reading

from agent.config import View
from agent.graph import ask
from agent.models import Completion, ModelError, Request
from agent.readers.generative import GenerativeReader
from agent.trajectory import Trajectory
from agent.types import Usage

KINDS = ("span", "number", "count", "list", "comparison", "difference", "yes_no")
TEXTS = ("42", "1,577", "Oslo", "9,999 million", "", "Unanswerable", "42 offices", "yes")
FACTS = (
    fact(3, "Net sales were 1,577 in 2023.", quote="Net sales 1,577", blocks=[1]),
    fact(2, "It has 42 offices.", blocks=[1]),
    fact(1, "It was founded in Oslo.", quote="founded in Oslo in 1998"),
    fact(9, "a page that does not exist"),
    fact(3, "Net sales were 9,999.", quote=""),
)


class Erratic:
    """A model's replies by a seed: good ones, wrong ones, cut ones, none."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def __call__(self, request: Request) -> Any:
        """A reply of the request's role, or a fault."""
        reply = getattr(self, request.role)()
        chance = self.random.random()
        if chance < 0.04:
            return ModelError("down")
        if chance < 0.08:
            return "no JSON"
        if chance < 0.12:
            cut = json.dumps(reply)[: self.random.randrange(60)]
            return Completion(cut, "length", Usage(3, 1, 1, 0.125))
        return reply

    def ids(self) -> list[str]:
        """Ids, some of no fact."""
        return self.random.sample([f"f{n}" for n in range(1, 6)], self.random.randrange(3))

    def plan(self) -> Any:
        """A plan."""
        parts = ["one", "two"][: self.random.randrange(1, 3)]
        return planning(*parts, answer_type=self.random.choice(KINDS), sweep=self.random.random() < 0.3)

    def read(self) -> Any:
        """Facts, some of them wrong."""
        found = self.random.sample(FACTS, self.random.randrange(4))
        missing, see = self.random.choice([[], [1], [1, 2]]), self.random.choice([[], [5], [99]])
        return reading(*found, missing=missing, see=see)

    def decide(self) -> Any:
        """A decision."""
        queries = self.random.choice([[], [f"query {self.random.randrange(9)}"]])
        return deciding(self.random.choice(["answer", "answer", "retrieve"]), *queries, p1=self.ids())

    def answer(self) -> Any:
        """An answer, perhaps none."""
        expression = self.random.choice(["", "1,577 - 1", "x"])
        items, answerable = self.random.choice([[], ["a", "42"]]), self.random.random() < 0.7
        text = self.random.choice(TEXTS)
        return answering(text, *self.ids(), answerable=answerable, items=items, expression=expression)

    def verify(self) -> Any:
        """A verdict."""
        wrong = {"follows": False, "problem": "no", "answer": self.random.choice(["", "42"]), "facts": ["f1"]}
        return self.random.choice([FOLLOWS, FOLLOWS, wrong])


@pytest.mark.parametrize("first", range(0, 100, 20))
def test_whatever_a_model_says_a_run_ends_well(first: int) -> None:
    for seed in range(first, first + 20):
        says, document = Erratic(seed), SeenDocument()
        model = FakeModel(**dict.fromkeys(("plan", "read", "decide", "answer", "verify"), says))
        rounds, order = says.random.randrange(1, 6), says.random.sample(range(1, 7), 6)
        run = make_run(
            GenerativeReader(model, View(images=False)),
            document=document,
            retriever=FakeRetriever(document, order),
            rounds=rounds,
            max_pages=says.random.randrange(1, 9),
            unsupported=says.random.choice(["abstain", "mark"]),
        )
        found = ask("How many offices?", run, question_id="q", model="m")
        assert Trajectory.from_row(json.loads(found.line())).as_json() == found.as_json()
        parts = [found.plan.usage, *(record.usage for record in found.rounds), found.reply.usage]
        total, cost = sum(parts, Usage()), found.usage.cost
        assert replace(total, cost=cost) == found.usage and total.cost == pytest.approx(cost)
        assert len(found.rounds) <= rounds and len(found.pages_read) <= run.config.max_pages
        # a round is answered once, and once more where it is objected to, each twice where it cannot be used
        assert sum(request.role == "answer" for request in model.requests) <= 4 * len(found.rounds)
        assert set(found.reply.fact_ids) <= {known.id for known in found.facts}
        assert not (found.reply.abstains and found.stop == "answered")
        assert found.failure is not None or found.reply.text
