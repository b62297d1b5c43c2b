"""Questions taken apart: kind and form of the answer, formulas, names, parts and queries."""

import pytest

from agent.readers.extractive.definitions import parse_definition
from agent.readers.extractive.formulas import Constant, FormulaError, Operation, Term, evaluate, parse_formula
from agent.readers.extractive.lineitems import label_score, line_item, resolve
from agent.readers.extractive.planning import make_plan
from agent.readers.extractive.question import analyse


@pytest.mark.parametrize(
    ("question", "answer_type"),
    [
        ("How many figures are shown on page 3?", "count"),
        ("What percentage of adults voted in 2018?", "number"),
        ("What is the difference in price between tea and coffee?", "difference"),
        ("Is the fee refundable?", "yes_no"),
        ("Which is larger, Spain or France?", "comparison"),
        ("Which five sensors are connected to the unit?", "list"),
        ("What is the total equity for Acme in FY2021?", "number"),
        ("What is the FY2021 return on assets of Acme?", "difference"),
        ("Who signed the letter?", "span"),
    ],
)
def test_the_kind_of_answer_follows_from_the_question(question: str, answer_type: str) -> None:
    assert analyse(question).answer_type == answer_type


def test_instructions_about_the_format_are_no_part_of_the_question() -> None:
    analysis = analyse("What was revenue in 2021? Answer in USD millions and round to two decimal places.")
    assert analysis.text == "What was revenue in 2021?"
    assert analysis.scale == 1e6 and analysis.places == 2
    assert analyse("How many weeks? Please write the answer in integer format.").form == "int"
    assert analyse("What date is it? Format the date as YYYY-MM-DD.").iso_date


def test_names_years_and_pages_are_found() -> None:
    analysis = analyse('On page 12, how many times does "Barclays" appear for Acme Corporation in FY19?')
    assert "Barclays" in analysis.names and "Acme Corporation" in analysis.names
    assert analysis.years == (2019,) and analysis.pages == (12,)


def test_a_known_ratio_becomes_a_formula_over_line_items() -> None:
    formula = analyse("What is the FY2019 inventory turnover of Acme?").formula
    assert formula is not None
    assert [(t.item.key, t.back) for t in formula.terms()] == [
        ("cost_of_sales", 0),
        ("inventory", 0),
        ("inventory", 1),
    ]


def test_a_definition_in_the_question_wins_over_the_usual_one() -> None:
    question = (
        "What is the FY2017 days payable outstanding? It is defined as: 365 * (average accounts "
        "payable between "
        "FY2016 and FY2017) / (FY2017 COGS + change in inventory between FY2016 and FY2017)."
    )
    formula = analyse(question).formula
    assert formula is not None and formula.name == "as defined"
    assert {(t.item.key, t.back) for t in formula.terms()} == {
        ("accounts_payable", 0),
        ("accounts_payable", 1),
        ("cost_of_sales", 0),
        ("inventory", 0),
        ("inventory", 1),
    }


def test_what_the_question_takes_a_name_for_is_taken() -> None:
    question = (
        "What is total debt to EBITDA in FY2021, taking total debt as long-term debt including "
        "its current portion "
        "plus all lease liabilities, and EBITDA as operating income plus depreciation and amortization?"
    )
    formula = analyse(question).formula
    assert formula is not None
    assert [t.item.key for t in formula.terms()] == [
        "long_term_debt",
        "current_debt",
        "lease_liabilities",
        "operating_income",
        "depreciation",
    ]


def test_change_over_years_and_averages_reach_back() -> None:
    change = analyse("What is the year-over-year change in revenue from FY2016 to FY2017?").formula
    assert change is not None and change.percent and {t.back for t in change.terms()} == {0, 1}
    average = analyse("What is the FY2017 - FY2019 3 year average of capex to revenue?").formula
    assert average is not None and {t.back for t in average.terms()} == {0, 1, 2}


def test_a_narrowed_line_item_is_not_taken_for_the_whole() -> None:
    assert analyse("What is the expected amortization of acquired intangible assets in 2017?").formula is None


def test_formulas_are_parsed_and_computed_without_running_code() -> None:
    tree = parse_formula("365 * avg(inventory) / (cost_of_sales - 1)")
    result = evaluate(tree, lambda term: (10.0, "10") if term.back else (20.0, "20"))
    assert result.value == pytest.approx(365 * 15 / 19)
    assert result.expression == "365 * ((20 + 10) / 2) / (20 - 1)".replace("((20 + 10) / 2)", "(20 + 10) / 2")
    for broken in ("1 +", "(revenue", "f(revenue)", "__import__('os')", "revenue revenue"):
        with pytest.raises(FormulaError):
            parse_formula(broken)
    with pytest.raises(FormulaError, match="zero"):
        evaluate(Operation("/", Constant(1), Term(line_item("revenue"))), lambda term: (0.0, "0"))
    assert parse_definition("nothing to compute here", 2020) is None


def test_rows_are_recognised_as_line_items_by_their_whole_label() -> None:
    revenue = line_item("revenue")
    assert label_score(revenue, "Total net revenues") == 1.0
    assert 0 < label_score(revenue, "Net sales") <= 1.0
    assert label_score(revenue, "Deferred revenue") == 0.0
    assert label_score(line_item("total_assets"), "Total current assets") == 0.0
    assert label_score(line_item("cost_of_sales"), "Cost of sales (Note 3)") > 0
    resolved = resolve("PP&E")
    assert resolved is not None and resolved.key == "ppe"


def test_the_plan_has_a_part_for_each_line_item_and_a_query_for_each_statement() -> None:
    plan = make_plan("What is the FY2021 return on assets of Acme?")
    assert plan.parts == ("net income, 2021", "total assets, 2021")
    assert any("balance sheet" in q for q in plan.queries) and any("income" in q for q in plan.queries)
    compared = make_plan("Which is larger, the north or the south?")
    assert len(compared.parts) == 2
    assert make_plan("Who signed?").parts == ("Who signed?",)


@pytest.mark.parametrize(
    "question",
    [
        "多少页?",
        "ما هو إجمالي الإيرادات في 2021؟",
        "¿Cuántas figuras hay?",
        "?",
        "a" * 4000,
        "((((",
        "1/0 to 0?",
    ],
)
def test_any_text_is_taken_apart_without_an_error(question: str) -> None:
    plan = make_plan(question)
    assert plan.parts and plan.queries
