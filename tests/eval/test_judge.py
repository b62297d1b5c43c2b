"""Judges, by a scripted model: verdicts, what goes to the model, and failures that stay unscored."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from agent.citations import parse_model_raw
from agent.models import Completion, ModelError, Picture, Request
from eval.benchmarks import GoldFact, GoldRegion, Question
from eval.exports import Prediction, from_row
from eval.judge import Judge
from eval.overlay import GREEN, RED, draw_boxes
from eval.prompts import load_templates
from eval.verdicts import read_object
from indexes.errors import InputError
from indexes.types import BBox, PageRef

RAW = (
    'Sales were 5 [page=2, doc_page="none", bbox=[0.1, 0.1, 0.5, 0.2]]. '
    'Costs were 3 [page=3, doc_page="none", bbox=[0.1, 0.1, 0.5, 0.2]].\n<answer> 2 </answer>'
)
Reply = Callable[[Request], str]


class ScriptedModel:
    """Answers by a function of the request; a model that keeps every request."""

    name = "scripted"
    context = 100_000

    def __init__(self, reply: Reply, sees: bool = True) -> None:
        self.reply, self.sees = reply, sees
        self.requests: list[Request] = []

    def picture_tokens(self, width: int, height: int) -> int:  # noqa: D102
        return 1

    def picture_size(self, width: int, height: int, most: int) -> tuple[int, int]:  # noqa: D102
        return width, height

    def text_tokens(self, text: str) -> int:  # noqa: D102
        return len(text)

    def complete(self, request: Request) -> Completion:  # noqa: D102
        self.requests.append(request)
        return Completion(self.reply(request))


def text_of(request: Request) -> str:
    return "".join(part for part in request.content if isinstance(part, str))


def good(request: Request) -> str:
    """A verdict for every kind: green box 1 covered, the others imprecise; facts consistent."""
    text = text_of(request)
    ids = [line.split(" ::")[0].removeprefix("id=") for line in text.splitlines() if line.startswith("id=")]
    if request.role == "judge_region":
        label = {"g1": "covered"}
        return json.dumps(
            {"items": [{"id": i, "label": label.get(i, "imprecise"), "reason": ""} for i in ids]}
        )
    if request.role == "judge_fact":
        return "```json\n" + json.dumps({"items": [{"id": i, "label": "consistent"} for i in ids]}) + "\n```"
    if request.role == "judge_answer":
        return 'Sure: {"consistent": true, "reason": "same"} I hope this helps.'
    if request.role == "judge_equivalence":
        return '{"equivalent": false, "abstained": true, "reason": ""}'
    return '{"answer": ["red", "blue"]}'


@pytest.fixture
def own_verdicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Verdicts of one test are not another's."""
    monkeypatch.setenv("PAGETRAIL_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def asked(sample_pdf: Path, own_verdicts: None) -> Iterator[Question]:
    two, three, four = (PageRef("sample", page) for page in (2, 3, 4))
    box = BBox(0.1, 0.1, 0.5, 0.2)
    yield Question(
        id="q1",
        question="How much is left of {sales}?",
        documents=(sample_pdf,),
        answer="2",
        answer_format="Str",
        gold_pages=(two, three, four),
        answerable=True,
        gold_regions=(
            GoldRegion("e1", two, box, "table"),
            GoldRegion("e2", two, BBox(0.6, 0.6, 0.9, 0.9), "text"),
            GoldRegion("e3", three, box, "text"),
            GoldRegion("e4", four, box, "text"),
        ),
        gold_facts=(GoldFact("f1", "e1", "Sales were 5."), GoldFact("f2", "e3", "Costs were 3.")),
    )


def predicted(asked: Question, raw: str = RAW) -> Prediction:
    parsed = parse_model_raw(raw).as_json()
    return from_row(asked, {"question_id": asked.id, "model_raw": raw, "parsed": parsed, "status": "ok"})


def test_a_page_is_judged_with_all_its_regions_at_once_and_only_where_it_is_cited(asked: Question) -> None:
    model = ScriptedModel(good)
    with Judge("docscope", model) as judge:
        labels = judge.regions(asked, predicted(asked))
    assert labels == {"e1": "covered", "e2": "imprecise", "e3": "covered"}
    assert [request.role for request in model.requests] == ["judge_region"] * 2
    picture, text = model.requests[0].content
    assert isinstance(picture, Picture) and picture.image.width > 1000
    assert "id=g2 :: index_on_page=2, element_type=text, gold_bbox_px=[" in str(text)
    assert "How much is left of {sales}?" in str(text) and '{"items": [' in str(text)
    colours = {colour for _, colour in picture.image.getcolors(10_000_000) or ()}
    assert GREEN in colours and RED in colours


def test_facts_and_answers_get_their_verdicts(asked: Question) -> None:
    model = ScriptedModel(good)
    judge = Judge("docscope", model)
    assert judge.facts(asked, predicted(asked)) == {"f1": True, "f2": True}
    score = judge.answer(asked, predicted(asked))
    assert score.score == 1.0 and not score.abstained
    assert "Facts of other pages, only as context: Costs were 3." in text_of(model.requests[0])
    assert "Reference answer: 2" in text_of(model.requests[2])


def test_the_gold_answer_of_an_unanswerable_question_is_unanswerable(asked: Question) -> None:
    model = ScriptedModel(good)
    unanswerable = Question("u", "?", asked.documents, "", "", (), False)
    Judge("docscope", model).answer(unanswerable, predicted(asked))
    assert "Reference answer: Unanswerable" in text_of(model.requests[0])


def test_mmlongbench_v2_gets_two_flags_and_at_most_12000_characters(asked: Question) -> None:
    model = ScriptedModel(good)
    score = Judge("mmlongbench-v2", model).answer(asked, predicted(asked, "x" * 20_000))
    assert score.score == 0.0 and score.abstained
    assert text_of(model.requests[0]).count("x") < 12_100


def test_v2_s_judge_is_told_question_reference_format_and_response_and_must_give_two_flags(
    asked: Question,
) -> None:
    model = ScriptedModel(good)
    widened = replace(asked, question="How \n many?", answer="Not answerable or 0 or none")
    Judge("mmlongbench-v2", model).answer(widened, predicted(asked, "There are none."))
    text = text_of(model.requests[0])
    for line in (
        "Question: How many?",
        "Reference answer: Not answerable or 0 or none",
        "Format of the reference answer: Str",
        "<response>\nThere are none.\n</response>",
    ):
        assert f"\n{line}\n" in text
    schema = model.requests[0].schema
    assert schema is not None and schema["required"] == ["equivalent", "abstained", "reason"]
    assert schema["additionalProperties"] is False


def test_a_reply_with_one_flag_only_is_no_verdict_of_v2(asked: Question) -> None:
    for reply in ('{"equivalent": true}', '{"equivalent": true, "abstained": "no"}'):
        model = ScriptedModel(lambda request, reply=reply: reply)
        assert Judge("mmlongbench-v2", model).answer(asked, predicted(asked)).score is None


def test_the_rules_of_v1_get_a_short_answer_that_the_model_takes_out(asked: Question) -> None:
    model = ScriptedModel(good)
    judge = Judge("mmlongbench-v1", model)
    listed = Question("q", "?", asked.documents, "['blue', 'red']", "List", (), True)
    assert judge.answer(listed, predicted(asked, "They are red and blue.")).score == 1.0
    short = Prediction("q", "['red', 'blue']", "['red', 'blue']", has_tag=True)
    assert judge.answer(listed, short).score == 1.0 and len(model.requests) == 1
    assert "short answers taken out by scripted" in judge.names["answers"]


def test_xldocbench_needs_no_model_for_answers(asked: Question) -> None:
    model = ScriptedModel(good)
    numeric = Question("q", "?", asked.documents, "2", "numeric", (), True)
    assert Judge("xldocbench", model).answer(numeric, predicted(asked)).score == 1.0
    assert model.requests == []


def test_a_verdict_is_asked_for_once_and_kept(asked: Question) -> None:
    first, second = ScriptedModel(good), ScriptedModel(good)
    with Judge("docscope", first) as judge:
        judge.prepare([(asked, predicted(asked))], workers=3)
        once = len(first.requests)
        labels = judge.regions(asked, predicted(asked))
        assert len(first.requests) == once == 5
    with Judge("docscope", second) as judge:
        assert judge.regions(asked, predicted(asked)) == labels and judge.calls == 0
        assert judge.answer(asked, predicted(asked, RAW.replace("<answer> 2", "<answer> 4"))).score == 1.0
    assert len(second.requests) == 1


def test_another_parameter_is_another_verdict(asked: Question) -> None:
    model = ScriptedModel(good)
    for temperature in (0.0, 0.0, 1.0):
        Judge("docscope", model, parameters={"temperature": temperature}).answer(asked, predicted(asked))
    assert len(model.requests) == 2


def fails(request: Request) -> str:
    raise ModelError("timed out after 120 seconds\nby the endpoint")


BAD_REPLIES: dict[str, Reply] = {
    "timeout": fails,
    "rubbish": lambda request: "I cannot say.",
    "no label": lambda request: '{"items": [{"id": "g1", "label": "maybe"}]}',
    "a list": lambda request: "[1, 2]",
    "no boolean": lambda request: '{"consistent": "yes", "equivalent": 1, "abstained": 0}',
    "empty": lambda request: "",
    "deep": lambda request: "{" * 100_000,
}


@pytest.mark.parametrize("bad", sorted(BAD_REPLIES))
def test_a_failed_judge_is_unscored_listed_and_asked_again_next_time(asked: Question, bad: str) -> None:
    with Judge("docscope", ScriptedModel(BAD_REPLIES[bad])) as judge:
        assert judge.regions(asked, predicted(asked)) == {"e1": None, "e2": None, "e3": None}
        assert judge.facts(asked, predicted(asked)) == {"f1": None, "f2": None}
        assert judge.answer(asked, predicted(asked)).score is None
        kinds = sorted((f.kind, f.page) for f in judge.failures if f.question_id == "q1" and f.page)
        assert kinds == [("fact", 2), ("fact", 3), ("region", 2), ("region", 3)] and len(judge.failures) == 5
        assert all(failure.reason and "\n" not in failure.reason for failure in judge.failures)
        calls = judge.calls
        judge.regions(asked, predicted(asked))
        assert judge.calls == calls  # not again in the same run
    model = ScriptedModel(good)
    with Judge("docscope", model) as judge:
        assert judge.regions(asked, predicted(asked))["e1"] == "covered"
        assert judge.facts(asked, predicted(asked)) == {"f1": True, "f2": True}
        assert judge.answer(asked, predicted(asked)).score == 1.0 and judge.failures == ()
    assert "(Try " in text_of(model.requests[0])  # other words, for models that keep their replies


def test_a_part_of_a_verdict_counts_now_is_listed_and_asked_for_again(asked: Question) -> None:
    def half(request: Request) -> str:
        return '{"items": [{"id": "g1", "label": "covered"}, {"id": "g2", "label": ""}, {"id": "g7"}]}'

    for _ in range(2):  # nothing of it is kept
        model = ScriptedModel(half)
        with Judge("docscope", model) as judge:
            judge.prepare([(asked, predicted(asked))])
            assert judge.regions(asked, predicted(asked)) == {"e1": "covered", "e2": None, "e3": "covered"}
            (failure,) = [f for f in judge.failures if f.kind == "region"]
            assert failure.page == 2 and "no label for g2" in failure.reason


def test_one_bad_reply_is_asked_again_at_once(asked: Question) -> None:
    replies = iter(["nonsense", '{"consistent": false, "reason": ""}'])
    model = ScriptedModel(lambda request: next(replies))
    judge = Judge("docscope", model)
    assert judge.answer(asked, predicted(asked)).score == 0.0 and judge.failures == ()
    assert len(model.requests) == 2 and "Try 2" in text_of(model.requests[1])


def test_failures_among_many_lose_nothing(asked: Question) -> None:
    def every_third_fails(request: Request) -> str:
        number = int(text_of(request).partition("Question: n")[2].partition("\n")[0])
        return fails(request) if number % 3 == 0 else good(request)

    pairs = [
        (q, predicted(q))
        for n in range(30)
        for q in [Question(f"q{n}", f"n{n}", asked.documents, "2", "", (), True)]
    ]
    with Judge("docscope", ScriptedModel(every_third_fails)) as judge:
        judge.prepare(pairs, workers=8)
        scores = {q.id: judge.answer(q, p).score for q, p in pairs}
        assert sum(score is None for score in scores.values()) == len(judge.failures) == 10
        assert sum(score == 1.0 for score in scores.values()) == 20
    again = ScriptedModel(good)
    with Judge("docscope", again) as judge:
        judge.prepare(pairs, workers=8)
        assert all(judge.answer(q, p).score == 1.0 for q, p in pairs)
    assert len(again.requests) == 10


def test_a_users_mistake_ends_the_judging_with_its_line(asked: Question) -> None:
    def wrong_key(request: Request) -> str:
        raise InputError("endpoint: the key is wrong; set PAGETRAIL_API_KEY")

    with pytest.raises(InputError, match="the key is wrong"):
        Judge("docscope", ScriptedModel(wrong_key)).prepare([(asked, predicted(asked))])


def test_a_page_without_boxes_needs_no_judge(asked: Question) -> None:
    model = ScriptedModel(good)
    bare = Prediction("q1", "x", "2", pages=(PageRef("sample", 4),), boxes=())
    assert Judge("docscope", model).regions(asked, bare) == {"e4": "not_covered"}
    assert model.requests == []


def test_without_a_model_that_sees_regions_are_by_overlap_and_say_so(asked: Question) -> None:
    model = ScriptedModel(good, sees=False)
    judge = Judge("docscope", model)
    assert judge.regions(asked, predicted(asked)) == {"e1": "covered", "e2": "not_covered", "e3": "covered"}
    assert "overlap" in judge.names["regions"] and "judge scripted" in judge.names["facts"]
    assert "judge scripted (prompt " in Judge("docscope", model, ScriptedModel(good)).names["regions"]


def test_a_document_that_is_gone_leaves_its_regions_unscored(asked: Question, tmp_path: Path) -> None:
    fields = {name: getattr(asked, name) for name in Question.__dataclass_fields__}
    lost = Question(**{**fields, "documents": (tmp_path / "sample.pdf",)})
    judge = Judge("docscope", ScriptedModel(good))
    assert set(judge.regions(lost, predicted(lost)).values()) == {None}
    assert {failure.page for failure in judge.failures} == {2, 3}


def test_the_benchmarks_own_templates_can_be_used(asked: Question, tmp_path: Path) -> None:
    folder = tmp_path / "prompts"
    folder.mkdir()
    template = 'Gold: {gold_answer}. Theirs: {model_answer}. Say {{"consistent": true or false}}'
    (folder / "answer_verification.txt").write_text(template)
    model = ScriptedModel(good)
    judge = Judge("docscope", model, prompts=folder)
    judge.answer(asked, predicted(asked, "{gold_answer} {0.__class__}"))
    assert text_of(model.requests[0]) == (
        'Gold: 2. Theirs: {gold_answer} {0.__class__}. Say {"consistent": true or false}'
    )
    assert judge.pinned["prompts"]["answer"]["file"] == "answer_verification.txt"
    assert judge.pinned["prompts"]["fact"]["file"] == "fact.md"
    assert judge.pinned["prompts"]["answer"]["sha256"] != load_templates()["answer"].sha256


@pytest.mark.parametrize(
    ("text", "message"),
    [("{gold_answer.__class__} {gold}", "{gold} is none"), (None, "no prompt template there")],
)
def test_templates_that_cannot_be_filled_are_one_line(tmp_path: Path, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / "answer.md").write_text(text)
    with pytest.raises(InputError, match=message):
        load_templates(tmp_path)


@pytest.mark.parametrize("text", ["", "no", "[]", '"x"', "{", "}{", '{"a": }', "null"])
def test_a_reply_without_an_object_is_no_verdict(text: str) -> None:
    with pytest.raises(ValueError, match="no JSON object"):
        read_object(text)


def test_boxes_at_the_edges_and_labels_at_the_top_stay_on_the_picture() -> None:
    page: Any = Image.new("RGB", (200, 300), "white")
    marked = draw_boxes(
        page, [BBox(0, 0, 1, 1), BBox(0.95, 0.0, 1, 0.01)], [BBox(0, 0, 0, 0), BBox(1, 1, 1, 1)]
    )
    assert marked.size == (200, 300) and page.getcolors() == [(60_000, (255, 255, 255))]
    assert marked.getpixel((100, 299)) == GREEN and marked.getpixel((199, 299)) == RED
    both = draw_boxes(page, [BBox(0.2, 0.2, 0.8, 0.8)], [BBox(0.2, 0.2, 0.8, 0.8)])
    assert both.getpixel((100, 59)) == GREEN and both.getpixel((100, 60)) == RED
