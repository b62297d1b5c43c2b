"""The oracle study: what each setting lets a reader see, and that it sees nothing else."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from report_fakes import make_benchmark

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "agent"))

from agent_fakes import DOC, PAGES, FakeDocument, ScriptedReader, make_page, quoting, saying  # noqa: E402
from generative_fakes import FakeModel  # noqa: E402

from agent.config import Config, load_config  # noqa: E402
from agent.readers.extractive import ExtractiveReader  # noqa: E402
from agent.types import DraftAnswer, Plan, ReadTask  # noqa: E402
from eval.benchmarks import load  # noqa: E402
from eval.benchmarks.types import GoldFact, GoldRegion, Question  # noqa: E402
from eval.closed_book import answer_alone  # noqa: E402
from eval.oracle import asked_by_all, config_of, default_settings  # noqa: E402
from eval.oracles import ORACLES, Given, GoldRetriever, best_part, find_oracle  # noqa: E402
from eval.windows import Window, only_pictures, within  # noqa: E402
from indexes.errors import InputError  # noqa: E402
from indexes.types import BBox, PageRef  # noqa: E402

TABLE = PAGES[2]
ROW = BBox(0.0, TABLE.blocks[1].cells[3].bbox.y1 - 0.002, 1.0, TABLE.blocks[1].cells[3].bbox.y2 + 0.002)
QUESTION = Question(
    id="q1",
    question="What were net sales in 2023?",
    documents=(Path("fake.pdf"),),
    answer="1,577",
    answer_format="",
    gold_pages=(PageRef(DOC, 3),),
    answerable=True,
    gold_regions=(GoldRegion("e1", PageRef(DOC, 3), ROW),),
    gold_facts=(GoldFact("f1", "e1", "Net sales were 1,577 million in 2023."),),
)


def given(reader: Any, question: Question = QUESTION, **more: Any) -> Given:
    return Given(question, [FakeDocument()], reader, Config(**more))


# ---- settings


def test_with_gold_pages_only_they_are_read():
    reader = ScriptedReader(reads=quoting("Net sales 1,577 1,212"), answers=saying("1,577"))
    run = ORACLES["gold-pages"].ask(given(reader))
    assert [ref for record in run.rounds for ref in record.read] == [PageRef(DOC, 3)]
    assert run.answer == "1,577" and run.model == "pagetrail/custom+gold-pages"
    assert "Other income" in " ".join(reader.tasks[0].pages[0].words.texts)


def test_more_gold_pages_than_a_round_reads_are_all_read_at_once():
    question = replace(QUESTION, gold_pages=tuple(PageRef(DOC, page) for page in (1, 2, 3, 4, 5, 6)))
    reader = ScriptedReader()
    run = ORACLES["gold-pages"].ask(given(reader, question, k=2, max_pages=2))
    assert len(run.rounds) == 1 and len(run.rounds[0].read) == 6


def test_gold_pages_that_the_document_does_not_have_are_an_error_and_no_empty_run():
    with pytest.raises(ValueError, match="none of the gold pages"):
        ORACLES["gold-pages"].ask(given(ScriptedReader(), replace(QUESTION, gold_pages=(PageRef(DOC, 99),))))


def test_with_gold_regions_a_reader_sees_the_row_and_its_header_and_nothing_else():
    reader = ScriptedReader(reads=quoting("Net sales 1,577 1,212"), answers=saying("1,577"))
    run = ORACLES["gold-regions"].ask(given(reader))
    seen = " ".join(reader.tasks[0].pages[0].words.texts)
    assert seen == "Item 2023 2022 Net sales 1,577 1,212"
    assert run.answer == "1,577"
    assert run.facts[0].regions[0].bbox.y1 >= ROW.y1  # the boxes are still those of the whole page


def test_with_gold_facts_the_ledger_holds_them_before_what_was_read():
    reader = ScriptedReader(
        reads=quoting("Net sales 1,577 1,212"),
        answers=lambda question, plan, facts: DraftAnswer("1,577", (facts[0].id,), "as told", 0.9),
    )
    run = ORACLES["gold-facts"].ask(given(reader))
    assert [(fact.id, fact.text) for fact in run.facts] == [
        ("f1", "Net sales were 1,577 million in 2023."),
        ("f2", "Net sales 1,577 1,212"),
    ]
    assert run.rounds[0].facts == ("f1", "f2") and run.answer == "1,577" and run.revised is None
    assert run.facts[0].regions[0].bbox == ROW and run.model == "pagetrail/custom+gold-facts"
    assert ORACLES["gold-facts"].ask(given(ExtractiveReader())).answer.replace(",", "") == "1577"
    assert run.line()  # it can be written


def test_a_whole_document_is_read_in_order():
    reader = ScriptedReader()
    ORACLES["document-text"].ask(given(reader))
    read = [page.ref.page for task in reader.tasks for page in task.pages]
    assert read == [1, 2, 3, 4, 5, 6]


def test_as_pictures_a_whole_document_has_no_words():
    reader = ScriptedReader()
    ORACLES["document-images"].ask(given(reader))
    assert all(not len(page.words) for task in reader.tasks for page in task.pages)
    assert [page.ref.page for task in reader.tasks for page in task.pages] == [1, 2, 3, 4, 5, 6]


def test_without_a_document_a_reader_of_rules_abstains():
    run = ORACLES["closed-book"].ask(given(ExtractiveReader()))
    assert run.reply.abstains and run.rounds == () and run.stop == "abstained"


def test_without_a_document_a_model_is_asked_by_a_prompt_of_its_own():
    model = FakeModel(closed_book='{"answer": "1,577", "confidence": 0.4}')
    run = answer_alone(QUESTION, model, Config())
    assert (run.answer, run.reply.confidence, run.usage.calls) == ("1,577", 0.4, 1)
    assert "closed_book" in run.prompts and QUESTION.question in str(model.requests[0].content)
    said = '{"answer": "Unanswerable.", "confidence": 1}', '{"answer": "", "confidence": 1}', "no JSON"
    for text in said:
        assert answer_alone(QUESTION, FakeModel(closed_book=text), Config()).reply.abstains


def test_given_pages_are_ranked_once():
    refs = [PageRef(DOC, 5), PageRef(DOC, 2)]
    retriever = GoldRetriever(refs, {refs[0]: [ROW]})
    assert [page.ref for page in retriever.retrieve("x", 10)] == refs
    assert retriever.retrieve("x", 10, {refs[0]})[0].ref == refs[1]
    assert retriever.retrieve("x", 1)[0].regions == (ROW,)


def test_a_gold_fact_goes_to_the_part_whose_words_it_has():
    plan = Plan("difference", ("revenue in 2023", "net income in 2023"), ("q",))
    assert best_part("Net income was 5 in 2023.", plan) == 1
    assert best_part("Nothing of it.", plan) == 0


# ---- windows


def test_what_is_left_of_a_page_is_a_sound_page():
    page = within(TABLE, [ROW])
    assert [block.order for block in page.blocks] == list(range(len(page.blocks)))
    for block in page.blocks:
        assert " ".join(page.words.texts[block.start : block.end]) == block.text
        for cell in block.cells:
            assert " ".join(page.words.texts[cell.start : cell.end]) == cell.text
    assert within(TABLE, []).words.texts == ()
    whole = within(TABLE, [BBox(0, 0, 1, 1)])
    assert whole.words.texts == TABLE.words.texts and len(whole.blocks) == len(TABLE.blocks)


def test_a_caption_stays_with_its_table_and_a_picture_with_its_region():
    page = make_page(
        1, [("caption", "Table 1: in millions"), ("table", "Item | 2023\nSales | 5"), "Elsewhere."]
    )
    page = replace(page, blocks=(replace(page.blocks[0], caption_of=1), *page.blocks[1:]))
    cell = page.blocks[1].cells[2].bbox
    left = within(page, [cell])
    assert " ".join(left.words.texts) == "Table 1: in millions Item 2023 Sales"
    assert left.blocks[0].caption_of == 1
    figure = make_page(2, [("picture", ""), "Elsewhere."])
    assert [b.kind for b in within(figure, [figure.blocks[0].bbox]).blocks] == ["picture"]


def test_only_pictures_leaves_no_word():
    page = only_pictures(PAGES[4])
    assert page.words.texts == () and [block.kind for block in page.blocks] == ["picture"]


class Painted(FakeDocument):
    """A document whose pages are black."""

    def render(self, number: int, dpi: float = 144) -> Image.Image:
        """Black."""
        return Image.new("RGB", (200, 200), "black")


def test_in_pictures_everything_else_is_white():
    window = Window(Painted(), lambda page: within(page, [ROW]))
    pixels = np.asarray(window.render(3).convert("L")) / 255
    seen = window.layout([3])[3]
    box = seen.blocks[0].bbox
    assert pixels[int(200 * (box.y1 + box.y2) / 2), int(200 * (box.x1 + box.x2) / 2)] == 0
    assert pixels[150:, :].min() == 1
    assert len(window) == 6 and window.doc_id == DOC
    blank = Window(Painted(), only_pictures)
    assert np.asarray(blank.render(3)).max() == 0  # no words left: the picture is all there is to see


# ---- the study


def test_all_settings_are_asked_the_same_answerable_questions(tmp_path):
    questions = load("docscope", make_benchmark(tmp_path, hostile=False))
    assert default_settings(questions) == ["agent", "gold-pages", "gold-regions", "gold-facts", "closed-book"]
    assert len(asked_by_all(questions, ["agent", "gold-facts"])) == 9
    bare = [replace(q, gold_regions=(), gold_facts=()) for q in questions]
    assert default_settings(bare) == ["agent", "gold-pages", "closed-book"]
    with pytest.raises(InputError, match="no question has the gold"):
        asked_by_all(bare, ["gold-regions"])


def test_pictures_are_not_shown_to_a_reader_that_sees_none():
    with pytest.raises(InputError, match="sees no pictures"):
        config_of("document-images", load_config("cpu"))
    chat = Config(reader="chat", reader_model="m")
    assert config_of("document-text", chat).view.images is False
    assert config_of("document-images", chat) == chat
    with pytest.raises(InputError, match="no setting"):
        find_oracle("gold")


def test_reading_in_full_asks_for_every_page_of_the_budget():
    seen: list[ReadTask] = []
    reader = ScriptedReader(reads=lambda task: seen.append(task) or quoting("x")(task))
    ORACLES["document-text"].ask(given(reader, k=1, max_pages=1, rounds=1))
    assert sum(len(task.pages) for task in seen) == 6


def test_gold_facts_do_not_answer_over_a_reading_that_failed():
    def fails(task: ReadTask):
        raise RuntimeError("no reply")

    run = ORACLES["gold-facts"].ask(given(ScriptedReader(reads=fails, answers=saying("1,577"))))
    assert run.failure is not None and "no reply" in run.failure
    assert run.model == "pagetrail/custom+gold-facts"
