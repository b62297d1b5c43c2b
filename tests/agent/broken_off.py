"""A run in a process of its own that kills itself in the middle: `python broken_off.py LOG [ROUND]`.

The scripted reader writes every call to LOG; reading in round ROUND ends the process as `kill -9` would. On
stdout comes the row, with what was watched under `watched`.
"""

import json
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from agent_fakes import FakeDocument, FakeRetriever, ScriptedReader, make_run, quoting

from agent.graph import ask
from agent.types import Decision, DraftAnswer, Plan, Usage

LOG = Path(sys.argv[1])
DIES = int(sys.argv[2]) if len(sys.argv) > 2 else 0
QUOTES = "The company was founded in Oslo", "Revenue was $5.2 billion in 2023", "Net sales", "It has 42"


def said(call: str) -> None:
    with LOG.open("a") as log:
        log.write(f"{call}\n")


def plans(question, outline):
    said("plan")
    return Plan(
        "span", (question, "and else?"), ("company", "revenue"), Usage(5, 1, 1, 0.5), ("asked twice",)
    )


def reads(task):
    number = reader.rounds + 1
    said(f"read {number}")
    if number == DIES:
        os.kill(os.getpid(), signal.SIGKILL)
    found = quoting(*QUOTES)(task)
    return type(found)(found.drafts, (1,), usage=Usage(10 * number, number, 1), notes=(f"note {number}",))


def decides(task):
    reader.rounds = len({*task.queries}) - 1
    said(f"decide {reader.rounds}")
    if reader.rounds == 4:
        return Decision("answer", "enough")
    return Decision("retrieve", "more", (f"offices {reader.rounds}",), Usage(1, 1, 1))


def answers(question, plan, facts):
    said("answer")
    return DraftAnswer("42", tuple(fact.id for fact in facts), "as told", 0.9)


reader = ScriptedReader(reads=reads, decides=decides, answers=answers, plans=plans)
reader.prompts = {"read": "abc"}
# What a model's reader knows of earlier rounds comes with its tasks; here the log stands for it.
reader.rounds = sum(line.startswith("decide") for line in LOG.read_text().splitlines()) if LOG.exists() else 0
document = FakeDocument()
watched: list[str] = []
run = make_run(
    reader, document=document, retriever=FakeRetriever(document, order=[1, 6, 4, 2, 3, 5]), rounds=9, k=1
)
options = {"keep": True, "watch": lambda step, _: watched.append(step)}
row = ask("How many offices?", run, question_id="q", model="m", **options).row()
sys.stdout.write(json.dumps({**row, "watched": watched}))
