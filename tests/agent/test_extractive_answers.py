"""From pages to answers through the whole reader, and the abstention's calibration."""

import json
from dataclasses import replace
from importlib import resources

import numpy as np
import pytest
from reader_pages import balance, page_of, right, statement

from agent.arithmetic import evaluate
from agent.config import Config
from agent.readers import READERS, load_model, load_reader
from agent.readers.extractive import answers, confidence
from agent.readers.extractive.attempts import Attempt
from agent.readers.extractive.planning import make_plan
from agent.readers.extractive.question import analyse
from agent.readers.extractive.reader import ExtractiveReader
from agent.types import UNANSWERABLE, DecideTask, DraftAnswer, EvidenceRegion, Fact, FactDraft, ReadTask
from indexes.encoders.protocol import QueryEmbedding
from indexes.errors import InputError
from indexes.types import BBox, Page, PageRef


def facts_of(drafts: tuple[FactDraft, ...]) -> list[Fact]:
    box = BBox(0.1, 0.1, 0.2, 0.2)
    return [
        Fact(f"f{i}", d.text, d.quote, (EvidenceRegion(d.ref, box),), "exact", 1, d.score, d.part)
        for i, d in enumerate(drafts, 1)
    ]


def stated(text: str, score: float, page: int = 1, part: int = 0) -> Fact:
    """A fact as it stands in the ledger."""
    region = EvidenceRegion(PageRef("doc", page), BBox(0.1, 0.1, 0.2, 0.2))
    return Fact(f"{part}-{page}-{text}", text, text, (region,), "exact", 1, score, part)


def ask(question: str, *pages: Page) -> Attempt:
    """What the reader would answer, whatever its confidence."""
    reader = ExtractiveReader(None)
    plan = reader.plan(question, ())
    facts = facts_of(reader.read(ReadTask(question, plan, pages, (), (), ())).drafts)
    attempt = answers.best_attempt(analyse(question), plan, facts)
    assert attempt is not None, [f.text for f in facts]
    assert {f.id for f in attempt.facts} <= {f.id for f in facts}
    return attempt


@pytest.mark.parametrize(
    ("question", "text", "expression"),
    [
        ("What is total assets for Acme in FY2022? Answer in millions.", "46455", None),
        ("What were the net sales of Acme in FY2021?", "35355", None),
        ("What were the net sales of Acme in FY2021? Answer in billions.", "35.36", None),
        ("What is the FY2022 return on assets of Acme?", "12.44%", "(5,777 / 46,455) * 100"),
        ("What is the FY2022 current ratio of Acme?", "1.54", "14,688 / 9,523"),
        ("What is the FY2022 inventory turnover of Acme?", "3.71", "19,232 / ((5,372 + 4,985) / 2)"),
        ("What is the FY2022 interest coverage of Acme?", "14.15", "6,539 / 462"),
        ("What is total liabilities for Acme in FY2022?", "31685", None),
        ("What is the FY2022 net working capital of Acme?", "5165", "14,688 - 9,523"),
    ],
)
def test_line_items_and_ratios_are_computed_from_cells(
    question: str, text: str, expression: str | None
) -> None:
    attempt = ask(question, statement(), balance())
    assert float(attempt.text.rstrip("%")) == pytest.approx(float(text.rstrip("%")), rel=0.001)
    assert attempt.text.endswith("%") == text.endswith("%")
    if expression is not None:
        assert attempt.expression == expression
    if attempt.expression is not None:
        assert evaluate(attempt.expression) == pytest.approx(float(text.rstrip("%")), rel=0.005)


def test_a_formula_without_all_its_terms_is_not_guessed() -> None:
    reader = ExtractiveReader(None)
    question = "What is the FY2022 return on assets of Acme?"
    plan = reader.plan(question, ())
    reading = reader.read(ReadTask(question, plan, [statement()], (), (), ()))
    assert reading.missing == (1,)
    assert {ref.page for ref in reading.wanted} == {2, 3}
    assert answers.best_attempt(analyse(question), plan, facts_of(reading.drafts)) is None
    decision = reader.decide(
        DecideTask(question, plan, facts_of(reading.drafts), reading.missing, plan.queries, 2, 8)
    )
    assert decision.action == "retrieve" and "total assets" in decision.queries[0]
    spent = reader.decide(
        DecideTask(question, plan, facts_of(reading.drafts), reading.missing, plan.queries, 0, 8)
    )
    assert spent.action == "retrieve" and spent.reason.startswith("the budget is spent; not covered: ")


def test_a_chart_gives_the_percentage_beside_its_label() -> None:
    page = page_of(
        [
            "Support for a national holiday, % who favor",
            [right(0.6, "2018"), right(0.7, "2021")],
            [(0.1, "Republican"), right(0.6, "59%"), right(0.7, "61%")],
            [(0.1, "Democrat"), right(0.6, "71%"), right(0.7, "78%")],
        ],
        [("title", 0, 1), ("table", 1, 4)],
    )
    assert ask("What percentage of Democrat voters favor a national holiday in 2021?", page).text == "78%"
    assert ask("Which group has the highest support for a national holiday in 2021?", page).text == "Democrat"
    combined = ask(
        "What is the difference in support for a national holiday between Democrat and Republican in 2021?",
        page,
    )
    assert combined.text == "17%" and combined.expression == "78 - 61"
    compared = ask("Who favor a national holiday more in 2018, Republican or Democrat?", page)
    assert compared.text == "Democrat" and len(compared.facts) == 2


def test_a_sentence_gives_the_number_of_the_year_that_is_asked_for() -> None:
    line = (
        "Liabilities for unredeemed gift cards were $2.4 billion and $3.0 billion as of "
        "December 31, 2016 and 2017."
    )
    page = page_of([line], [("text", 0, 1)])
    question = "What amount is liabilities for unredeemed gift cards in {}? Answer in billions."
    assert ask(question.format(2017), page).text == "3"
    assert ask(question.format(2016), page).text == "2.4"


def test_counts_come_from_the_text_the_list_or_the_captions() -> None:
    stated = page_of(["Our system is composed of five modules."], [("text", 0, 1)])
    assert ask("How many modules does the system have?", stated).text == "5"
    listed = page_of(
        ["Package contents", "• Headset", "• Cable", "• Case"], [("title", 0, 1), ("list", 1, 4)]
    )
    assert ask("How many package contents are there?", listed).text == "3"
    lines = ["Figure 1: Sales", "Figure 2: Costs", "See Figure 1 for more."]
    first = page_of(lines, [("caption", 0, 1), ("caption", 1, 2), ("text", 2, 3)], 1)
    second = page_of(["Figure 3: Staff"], [("caption", 0, 1)], 2)
    counted = ask("How many figures are in the report?", first, second)
    assert counted.text == "3" and counted.expression == "2 + 1"
    words = page_of(["Barclays and Barclays", "Not Barclay but (Barclays)"])
    assert ask('How many times does "Barclays" appear on page 1?', words).text == "3"
    weight = page_of(["Insert ground coffee (max. 16 g) and close the lid."], [("text", 0, 1)])
    assert ask("How many grams of coffee can be inserted?", weight).text == "16"


def test_dates_names_and_causes_are_spans() -> None:
    page = page_of(
        ["The letter was signed on October 7, 2003 by Jane Roe of Acme.", "Profit fell due to higher rents."],
        [("text", 0, 2)],
    )
    assert ask("What is the date of the letter? Format the date as YYYY-MM-DD.", page).text == "2003-10-07"
    assert ask("Who signed the letter?", page).text == "Jane Roe of Acme"
    assert ask("What drove the fall of profit?", page).text == "higher rents"


def test_abstaining_says_what_was_looked_for() -> None:
    reader = ExtractiveReader(None)
    question = "How many likes does the giraffe post have?"
    plan = reader.plan(question, ())
    empty = reader.answer(question, plan, ())
    assert empty.text == UNANSWERABLE and empty.fact_ids == () and empty.reason
    facts = facts_of(
        reader.read(ReadTask(question, plan, [page_of(["The post was short."])], (), (), ())).drafts
    )
    assert facts, "the nearest evidence is recorded even where there is no answer"
    reply = reader.answer(question, plan, facts)
    assert reply.abstains and "giraffe" in reply.reason


def test_the_threshold_decides_and_confidence_grows_with_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    question = "What were the net sales of Acme in FY2021?"
    reader = ExtractiveReader(None)
    plan = reader.plan(question, ())
    facts = facts_of(reader.read(ReadTask(question, plan, [statement()], (), (), ())).drafts)

    def reply(threshold: float) -> DraftAnswer:
        found = confidence.Calibration(threshold, {"bias": 0.0, "score": 1.0})
        monkeypatch.setattr(answers, "calibration", lambda: found)
        monkeypatch.setattr(confidence, "calibration", lambda: found)
        return reader.answer(question, plan, facts)

    assert reply(0.0).text == "35355" and reply(0.0).fact_ids
    assert reply(1.0).abstains
    weaker = [replace(f, score=0.1) for f in facts]
    strong = reply(0.0).confidence
    assert reader.answer(question, plan, weaker).confidence < strong


def test_the_calibration_that_comes_along_is_sound() -> None:
    raw = json.loads(resources.files("agent.readers.extractive").joinpath("calibration.json").read_text())
    assert 0 < raw["threshold"] < 1 and "bias" in raw["weights"]
    assert confidence.calibration().threshold == raw["threshold"]


def test_the_encoder_refines_the_order_of_candidates() -> None:
    class Counting:
        name, revision = "fake", "0"
        calls = 0

        def encode_query(self, text: str) -> QueryEmbedding:
            self.calls += 1
            pooled = (
                np.array([1.0, 0.0], dtype=np.float32)
                if "blue" in text
                else np.array([0.0, 1.0], dtype=np.float32)
            )
            return QueryEmbedding(np.zeros((0, 2), dtype=np.float32), pooled)

        encode_pages = None

    encoder = Counting()
    reader = ExtractiveReader(encoder)  # type: ignore[arg-type]
    page = page_of(["The sky of the town is grey.", "The sky of the town is blue."], [("text", 0, 2)])
    plan = reader.plan("What is the blue sky of the town?", ())
    drafts = reader.read(ReadTask("What is the blue sky of the town?", plan, [page], (), (), ())).drafts
    assert drafts[0].text.endswith("blue.") and 1 < encoder.calls < 20


def test_readers_are_known_by_name() -> None:
    assert load_reader(Config()).name == "extractive" and "extractive" in READERS
    with pytest.raises(InputError, match="extractive"):
        load_reader(Config(reader="extractiv"))
    with pytest.raises(InputError, match="reader 'chat' needs a model: set reader_model"):
        load_reader(Config(reader="chat"))
    with pytest.raises(InputError, match="reader 'extractive' is no model; those are chat, qwen"):
        load_model(Config())


def register() -> tuple[Page, Page]:
    """Key figures of two years, and a table whose caption says nearly the same words."""
    figures = page_of(
        [
            "Table 1: Key figures",
            [right(0.7, "2024"), right(0.85, "2023")],
            [(0.1, "Turbines in service"), right(0.7, "60"), right(0.85, "54")],
            [(0.1, "Employees"), right(0.7, "118"), right(0.85, "109")],
        ],
        [("caption", 0, 1), ("table", 1, 4)],
        4,
    )
    table = page_of(
        [
            "Turbine register",
            "Table 2: Turbines in service at the end of 2024",
            [(0.1, "T-01 Sula Sound"), right(0.85, "Running")],
            [(0.1, "T-02 Grey Skerry"), right(0.85, "Running")],
        ],
        [("title", 0, 1), ("caption", 1, 2), ("table", 2, 4)],
        7,
    )
    return figures, table


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How many turbines were in service at the end of 2023?", "54"),
        ("How many turbines were in service at the end of 2024?", "60"),
        ("How many employees were there in 2023?", "109"),
    ],
)
def test_a_count_of_a_year_is_the_cell_of_that_year_and_no_number_of_a_caption(
    question: str, text: str
) -> None:
    attempt = ask(question, *register())
    assert (attempt.text, attempt.kind) == (text, "dated cell")


@pytest.mark.parametrize(
    "line",
    ["Table 2: Turbines in service", "3. Turbines in service", "See page 14 for turbines", "4.2 Turbines"],
)
def test_the_number_of_a_caption_a_page_or_a_list_marker_counts_nothing(line: str) -> None:
    question = "How many turbines are in service?"
    assert answers.best_attempt(analyse(question), make_plan(question), [stated(line, 0.9)]) is None
    told = [stated(line, 0.9), stated("The company has 31 turbines in service.", 0.6)]
    attempt = answers.best_attempt(analyse(question), make_plan(question), told)
    assert attempt is not None and attempt.text == "31"


def test_a_sentence_of_another_year_weighs_less_than_one_of_the_year_asked_for() -> None:
    question = "How many turbines were lifted in 2023?"
    told = [
        stated("In 2024 the crew lifted 19 turbines.", 0.9),
        stated("In 2023 the crew lifted 12 turbines.", 0.7),
    ]
    attempt = answers.best_attempt(analyse(question), make_plan(question), told)
    assert attempt is not None and attempt.text == "12"
    question = "How much did a lift cost in 2023?"
    told = [stated("In 2024 a lift cost $300.", 0.9), stated("In 2023 a lift cost $200.", 0.7)]
    attempt = answers.best_attempt(analyse(question), make_plan(question), told)
    assert attempt is not None and attempt.text == "200"


def test_a_change_between_two_years_takes_both_from_one_row() -> None:
    question = "What is the difference between total revenue in 2024 and 2023?"
    told = [
        stated("Total revenue, 2024: 24,695; 2023: 21,665 (Income)", 0.5, part=0),
        stated("Employees, 2023: 109; 2024: 118 (Key figures)", 0.6, part=1),
    ]
    attempt = answers.best_attempt(analyse(question), make_plan(question), told)
    assert attempt is not None and (attempt.text, attempt.expression) == ("3030", "24,695 - 21,665")


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What is the percentage change in returns from Alder to Birch?", None),
        ("What is the difference in returns between Alder and Birch?", None),
        ("What is the sum of returns of Alder and Birch?", "32"),
    ],
)
def test_the_same_number_of_two_facts_is_no_change_but_may_be_a_sum(question: str, text: str | None) -> None:
    told = [stated("Alder, returns: 16", 0.8, part=0), stated("Birch, returns: 16", 0.8, part=1)]
    attempt = answers.best_attempt(analyse(question), make_plan(question), told)
    assert (attempt.text if attempt else None) == text


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What is the FY2022 net working capital of Acme?", "5165"),
        ("What is the FY2022 net working capital of Acme? Round to two decimal places.", "5165.00"),
        ("What is the FY2022 current ratio of Acme?", "1.54"),
    ],
)
def test_a_computed_number_has_no_empty_decimals_unless_they_are_asked_for(question: str, text: str) -> None:
    assert ask(question, statement(), balance()).text == text


def test_a_computed_percentage_has_no_empty_decimals() -> None:
    question = "What is the percentage change in lifts from 2023 to 2024?"
    told = [stated("Lifts, 2023: 50; 2024: 60 (Fleet)", 0.8)]
    attempt = answers.best_attempt(analyse(question), make_plan(question), told)
    assert attempt is not None and attempt.text == "20%"


def test_a_change_is_not_computed_from_facts_about_something_else() -> None:
    question = "What is the percentage change of the allowance for returns from 2016 to 2017?"
    told = [
        stated("The act lowers the tax rate from 35% to 21%, beginning in 2017.", 0.6, part=p) for p in (0, 1)
    ]
    assert answers.best_attempt(analyse(question), make_plan(question), told) is None


def test_how_much_a_row_fell_between_two_years_is_a_difference_of_its_cells() -> None:
    question = "How much did finance costs fall from 2023 to 2024?"
    told = [stated("Finance costs, 2023: -1,377; 2024: -1,284 (Statement of income)", 0.8)]
    attempt = answers.best_attempt(analyse(question), make_plan(question), told)
    assert attempt is not None and attempt.text == "93" and attempt.expression is not None
    assert evaluate(attempt.expression) == 93


def test_a_table_of_another_year_leaves_the_question_open() -> None:
    reader = ExtractiveReader(None)
    figures, table = register()
    question = "How many turbines were in service at the end of 2023?"
    plan = reader.plan(question, ())
    assert reader.read(ReadTask(question, plan, [table], (), (), ())).missing == (0,)
    assert reader.read(ReadTask(question, plan, [figures], (), (), ())).missing == ()


@pytest.mark.parametrize(
    ("question", "sentence", "text"),
    [
        ("What was revenue in 2021?", "Revenue in 2021 was $110 million.", "110"),
        (
            "How much does a turbine of the second series weigh?",
            "A turbine of the second series has a rotor of 18 metres and weighs 140 tonnes.",
            "140",
        ),
    ],
)
def test_a_sentence_that_holds_the_whole_question_is_answered_from(
    question: str, sentence: str, text: str
) -> None:
    plan, analysis = make_plan(question), analyse(question)
    reply = answers.draft_answer(analysis, plan, [stated(sentence, 0.92)])
    assert reply.text == text


@pytest.mark.parametrize(
    "sentence", ["Revenue in 2020 was $110 million.", "The fee in 2021 was $110 million."]
)
def test_a_sentence_of_another_year_or_thing_is_not(sentence: str) -> None:
    question = "What was revenue in 2021?"
    reply = answers.draft_answer(analyse(question), make_plan(question), [stated(sentence, 0.92)])
    assert reply.text == UNANSWERABLE
