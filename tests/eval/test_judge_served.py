"""A judge behind a real socket that fails in every way: what it owes is unscored, and is got next time."""

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "agent"))

from scripted_server import Action, Drops, Fails, Hangs, Says, Sends, said_to, serving  # noqa: E402

from agent.config import Config, Endpoint, View  # noqa: E402
from eval.benchmarks import GoldFact, GoldRegion, Question  # noqa: E402
from eval.exports import Prediction, from_row  # noqa: E402
from eval.judge import Judge, load_judge  # noqa: E402
from indexes.types import BBox, PageRef  # noqa: E402

RAW = 'It was 5 [page=2, doc_page="none", bbox=[0.1, 0.1, 0.5, 0.2]].\n<answer> 5 </answer>'
FAULTS: list[Action] = [
    Fails(500), Drops(), Sends(b"<html>"), Hangs(30), Says("no idea"), Says("", refusal="I won't"),
    Fails(400), Says('{"items": []}'), Says('{"consistent": "yes"}', finish="length"),
]  # fmt: skip


def verdict(body: dict[str, Any]) -> Action:
    text = said_to(body)
    ids = [line.split(" ::")[0].removeprefix("id=") for line in text.splitlines() if line.startswith("id=")]
    if not ids:
        return Says({"consistent": True, "reason": "same"})
    label = "covered" if "Green boxes" in text else "consistent"
    return Says({"items": [{"id": i, "label": label, "reason": ""} for i in ids]})


@pytest.fixture
def pairs(
    sample_pdf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[tuple[Question, Prediction]]]:
    monkeypatch.setenv("PAGETRAIL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PAGETRAIL_API_KEY", "secret")
    page = PageRef("sample", 2)
    made = []
    for n in range(7):
        region = GoldRegion("e1", page, BBox(0.1, 0.1, 0.5, 0.1 + 0.05 * (n + 1)), "text")
        facts = (GoldFact("f1", "e1", f"It was {n}."),)
        asked = Question(
            f"q{n}", f"Question {n}?", (sample_pdf,), "5", "", (page,), True,
            gold_regions=(region,), gold_facts=facts,
        )  # fmt: skip
        made.append((asked, from_row(asked, {"question_id": asked.id, "model_raw": RAW, "status": "ok"})))
    yield made


def config(base_url: str) -> Config:
    endpoint = Endpoint(base_url=base_url, retries=0, timeout=1.0, concurrency=8)
    return Config(reader="chat", reader_model="judge-1", endpoint=endpoint, view=View())


def judged(judge: Judge, pairs: list[tuple[Question, Prediction]]) -> dict[tuple[str, str], object]:
    judge.prepare(pairs, workers=8)
    found: dict[tuple[str, str], object] = {}
    for question, prediction in pairs:
        found[question.id, "answer"] = judge.answer(question, prediction).score
        found[question.id, "region"] = judge.regions(question, prediction)["e1"]
        found[question.id, "fact"] = judge.facts(question, prediction)["f1"]
    return found


def test_failures_of_a_served_judge_are_unscored_and_got_the_next_time(
    pairs: list[tuple[Question, Prediction]],
) -> None:
    draw = random.Random(3)

    def faulty(body: dict[str, Any]) -> Action:
        return draw.choice(FAULTS) if draw.random() < 0.5 else verdict(body)

    first_ok = iter([verdict])
    with serving(lambda body: next(first_ok, faulty)(body)) as server:  # the first reply: the server is there
        with load_judge("docscope", config(server.base_url)) as judge:
            first = judged(judge, pairs)
            unscored = {key for key, value in first.items() if value is None}
            assert {(f.question_id, f.kind) for f in judge.failures} == unscored
            assert 3 < len(unscored) < 18 and len(first) == 21
            assert all(v in (None, 1.0, "covered", True) for v in first.values())  # a failure is never wrong
            assert "secret" not in "".join(f.reason for f in judge.failures)
        server.script = verdict
        before = len(server.requests)
        with load_judge("docscope", config(server.base_url)) as judge:
            second = judged(judge, pairs)
            assert None not in second.values() and judge.failures == ()
        assert len(server.requests) - before == len(unscored)  # what was judged is not asked for again
        assert judge.pinned["model"] == "judge-1" and judge.pinned["parameters"]["temperature"] == 0.0


def test_a_judge_sees_the_page_with_the_boxes(pairs: list[tuple[Question, Prediction]]) -> None:
    with serving(verdict) as server, load_judge("docscope", config(server.base_url)) as judge:
        judge.regions(*pairs[0])
        (body,) = server.requests
    (message,) = body["messages"]
    picture, text = message["content"][:2]
    assert picture["image_url"]["url"].startswith("data:image/png;base64,")
    assert "GOLD[1]" in text["text"] and body["model"] == "judge-1"
