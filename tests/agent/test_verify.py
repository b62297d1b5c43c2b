"""Numbers, arithmetic and verification of answers."""

import random

import pytest
from agent_fakes import DOC, ScriptedReader, make_page, make_run, quoting, saying

from agent.arithmetic import evaluate, number_words, stated
from agent.forms import currencies, dates, folded, printed_numbers, stated_scales
from agent.graph import ask
from agent.grounding import Grounded, ground
from agent.matching import PageText
from agent.trajectory import Trajectory
from agent.types import DraftAnswer, EvidenceRegion, Fact, FactDraft, Plan
from agent.verify import checked, objection
from indexes.types import BBox, PageRef

REGION = EvidenceRegion(PageRef(DOC, 1), BBox(0, 0, 0.5, 0.5))
SPAN = Plan("span", ("q",), ("q",))


def fact(text: str, name: str = "f1", support="exact") -> Fact:
    return Fact(name, text, text, (REGION,), support, 1)


def why(text: str, *facts: Fact, question: str = "?", plan: Plan = SPAN, expression: str | None = None):
    reply = DraftAnswer(text, tuple(f.id for f in facts), "", 0.5, expression)
    return objection(reply, question, plan, facts)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,577 and (158)", [1577, 158]),
        ("$5.2 billion", [5.2]),
        ("13% or .5", [13, 0.5]),
        ("in 2019, 12 people", [2019, 12]),
        ("12,34,567", [1234567]),
        ("v1.2.3 A4", [1.2, 4]),
        ("\uff11\uff12", [12]),
        ("none", []),
    ],
)
def test_numbers_are_found_as_printed(text: str, expected: list[float]) -> None:
    assert [number.values[0] for number in printed_numbers(folded(text))][: len(expected)] == expected


def test_numbers_know_scale_percent_and_places() -> None:
    one, two = printed_numbers("$5.20 billion, 13 %")
    assert (one.scale, one.places, one.percent) == (1e9, 2, False)
    assert (two.scale, two.places, two.percent) == (1.0, 0, True)
    assert number_words("Three of twenty") == {3, 20}
    (value,) = stated(["5.2 billion"])
    assert (value.value, value.factors) == (5.2, (1e9,))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1,577 - 1,212", 365),
        ("(1,577 − 1,212) / 1,212 × 100", 30.1155),
        ("-3 + 2*4", 5),
        ("$5.5 ÷ 2", 2.75),
        ("50%", 0.5),
        ("((((1))))", 1),
        ("1 577 - 1'212", 365),
        ("$1.5 billion / 300 million", 5),
    ],
)
def test_arithmetic_is_computed(expression: str, value: float) -> None:
    assert evaluate(expression) == pytest.approx(value, abs=1e-3)


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "1 +",
        "2 ** 9",
        "9" * 399,
        "__import__('os')",
        "a",
        "1 if 1 else 2",
        "1/0",
        "1e18*1e9",
        "(" * 300,
        "1+" * 150 + "1",
        "True + 1",
        "'a' * 3",
        "1 < 2",
        "[1]",
        "1j",
        "lambda: 1",
        "1" * 500,
        "\x00",
        "f(1)",
    ],
)
def test_anything_but_bounded_arithmetic_is_refused(expression: str) -> None:
    with pytest.raises(ValueError):
        evaluate(expression)


def test_arithmetic_agrees_with_an_independent_computation() -> None:
    rng = random.Random(1)
    for _ in range(200):
        a, b, c = (rng.randint(1, 99_999) for _ in range(3))
        assert evaluate(f"({a:,} - {b:,}) / {c:,}") == pytest.approx((a - b) / c)


def test_an_answer_that_its_facts_say_passes() -> None:
    assert why("34,229", fact("Net sales were $ 34,229 in 2022")) is None
    assert why("$34.2 billion", fact("Net sales: 34,229 (in millions)")) is None
    assert why("seven: 7", fact("There are seven levels")) is None
    assert why("Oslo", fact("founded in Oslo")) is None
    assert why("2015-10-05", fact("on 5 October 2015")) is None
    assert why("In 2018 it was 12", fact("it was 12"), question="How many in 2018?") is None


def test_numbers_and_names_that_no_fact_says_are_objected_to() -> None:
    assert why("34,230", fact("Net sales were 34,229")) == "no cited fact says 34230"
    assert why("$35.2 billion", fact("Net sales: 34,229 (in millions)")) == "no cited fact says 35.2"
    assert why("It is in Bergen", fact("founded in Oslo")) == "no cited fact names 'Bergen'"


def test_an_answer_needs_facts_that_exist_and_are_borne_out() -> None:
    assert why("Oslo") == "the answer cites no fact of the ledger"
    assert why("Oslo", fact("Oslo", support="none")) == "nothing on the pages bears out the cited facts"
    assert why("Oslo", fact("Oslo", support="visual")) is None
    assert objection(DraftAnswer("Unanswerable", (), "", 0.0), "?", SPAN, []) is None


def test_a_computed_answer_must_be_the_value_of_its_expression() -> None:
    told = fact("2023: 1,577; 2022: 1,212")
    assert why("365", told, expression="1,577 - 1,212") is None
    assert why("30.1%", told, expression="(1,577 - 1,212) / 1,212") is None
    assert why("30.12", told, expression="(1,577 - 1,212) / 1,212 * 100") is None
    assert why("366", told, expression="1,577 - 1,212") == "no cited fact says 366"
    days = "Days of inventory, at 360 days a year?"
    assert why("277", told, expression="1,212 / 1,577 * 360", question=days) is None
    assert "uses 999" in str(why("578", told, expression="1,577 - 999"))
    assert "expected" in str(why("5", told, expression="import os"))


def test_a_count_may_be_the_number_of_cited_facts() -> None:
    facts = [fact("a site", "f1"), fact("another", "f2")]
    assert why("2", *facts, plan=Plan("count", ("q",), ("q",))) is None
    assert why("2", *facts) == "no cited fact says 2"


def test_replies_are_brought_into_form() -> None:
    reply = DraftAnswer(" a\nb ", ("f1", "f9", "f1"), "why\x1b[0m", 7.0)
    kept = checked(reply, [fact("a")])
    assert (kept.text, kept.fact_ids, kept.reason, kept.confidence) == ("a b", ("f1",), "why", 1.0)
    assert checked(DraftAnswer("\x00", (), "", 0.0), []).text == "Unanswerable"


def test_numbers_in_other_forms_are_the_facts_numbers() -> None:
    told = fact("Net sales: 1,577 (in millions)")
    for text in ("1 577", "1'577", "1577", "1.577", "$1.577 billion", "$1,577 million", "1\u00a0577"):
        assert why(text, told) is None, text
    for text in ("1 578", "1'587", "1.5777", "$1.577 million", "$1.578 billion", "1,577 thousand"):
        assert "no cited fact says" in str(why(text, told)), text
    assert "no cited fact says" in str(why("$5.2 million", fact("It was $5.2 billion")))
    assert why("5.2", fact("It was $5.2 billion")) is None


def test_a_fact_that_its_page_does_not_bear_out_lends_no_number() -> None:
    said, unsaid = fact("There are 42 offices"), fact("There are 57 plants", "f2", support="none")
    assert why("57", said, unsaid) == "no cited fact says 57"
    assert "uses 57" in str(why("99", said, unsaid, expression="42 + 57"))


def test_an_answer_that_stays_unsupported_is_withdrawn_or_marked() -> None:
    def run(**dials) -> Trajectory:
        reader = ScriptedReader(reads=quoting("It has 42 offices."), answers=saying("It has 57 offices"))
        return ask("42 offices", make_run(reader, **dials), question_id="q1", model="test")

    withdrawn, kept = run(), run(unsupported="mark")
    assert withdrawn.answer == "Unanswerable" and withdrawn.reply.unsupported == ""
    assert kept.answer == "It has 57 offices" and kept.stop == "answered"
    assert kept.reply.unsupported == kept.revised == "no cited fact says 57"
    assert kept.reply.confidence == 0
    assert Trajectory.from_row(kept.row()).reply == kept.reply


SCALED = "Net sales (in millions) 1,577"
STANDS = [
    # the page, what a fact says of it, how it is borne out
    *((SCALED, f"Net sales {form}", "exact") for form in ("1,577", "1 577", "1.577", "1577", "1'577")),
    (SCALED, "Net sales 1\u00a0577", "exact"),
    (SCALED, "Net sales 1\u202f577", "exact"),
    (SCALED, "Net sales \uff11\uff15\uff17\uff17", "exact"),
    ("Net sales 1 577", "Net sales 1,577", "exact"),
    ("Net sales 1.577", "Net sales 1,577", "exact"),
    ("Net sales 1’577", "Net sales 1,577", "exact"),
    (SCALED, "Net sales 1,578", "none"),
    (SCALED, "Net sales 15,77", "none"),
    (SCALED, "Net sales 11,577", "none"),
    (SCALED, "Net sales were $1.577 billion", "exact"),
    (SCALED, "Net sales were $1,577 million", "exact"),
    (SCALED, "Net sales were 1,577,000,000", "exact"),
    (SCALED, "Net sales were $1.6 billion", "approximate"),
    (SCALED, "Net sales were $1.578 billion", "none"),
    (SCALED, "Net sales were $1.577 million", "none"),
    ("Net sales 1,577", "Net sales were $1.577 billion", "approximate"),
    ("Net sales of $5.2 billion", "Net sales of $5.2 million", "none"),
    ("Net loss (158)", "Net loss -158", "exact"),
    ("Net loss (158)", "Net loss \u2212158", "exact"),
    ("Net loss (158)", "Net loss of 158", "exact"),
    ("Net loss (158)", "Net loss (159)", "none"),
    ("Net income (158)", "Net income 158", "approximate"),
    ("Net income 158", "Net income (158)", "approximate"),
    ("Margin was 13 %", "Margin was 13%", "exact"),
    ("Margin was 13 percent", "Margin was 13%", "exact"),
    ("Margin was 13", "Margin was 13%", "approximate"),
    ("Margin was 13%", "Margin was 31%", "none"),
    ("Sales were EUR 12.5", "Sales were €12.5", "exact"),
    ("Sales were € 12.5", "Sales were $12.5", "approximate"),
    ("A mass of 12 kg", "A mass of 12 kilograms", "exact"),
    ("A mass of 12 kg", "A mass of 12 pounds", "approximate"),
    *(
        ("On 31 December 2022 it closed", f"On {day} it closed", "exact")
        for day in ("December 31, 2022", "Dec. 31, 2022", "2022-12-31", "12/31/2022", "31.12.2022")
    ),
    ("On 12/31/2022 it closed", "On 31st of December 2022 it closed", "exact"),
    ("On December 31, 2022 it closed 13 sites", "On December 13, 2022 it closed", "none"),
    ("On December 31, 2022 it closed", "On December 31, 2023 it closed", "none"),
    ("On December 31, 2022 it closed", "On November 31, 2022 it closed", "none"),
    ("At December 31, 2022 2021 Cash 5 4", "At December 31, 2021 Cash was 4", "exact"),
    ("At December 31, 2022 2021 Cash 5 4", "At December 30, 2021 Cash was 4", "none"),
    ("Opened in March 2019", "Opened in March 2019", "exact"),
    ("Opened in March 2019", "Opened in May 2019", "none"),
    ("The ef\ufb01cient of\ufb01ce", "The efficient office", "exact"),
    ("Total re- ported rev\u00adenue", "Total reported revenue", "exact"),
    ("Founded by Ann Mi- chaels", "Founded by Ann Michaels", "exact"),
    ("Founded by Ann Michaels", "Founded by Bob Michaels", "approximate"),
    ("He said “we will grow” today", 'He said "we will grow" today', "exact"),
    ("He said “we will grow” today", 'He said "we will shrink" today', "none"),
    ("Growth in 2020-2022 was 5", "Growth in 2020–2022 was 5", "exact"),
    ("Sales by 3M Company in FY2022", "3M Company sales in FY2022", "exact"),
]


WITHIN_WORDS = [
    ('Type =X("aa","bb") there', 'The call takes "aa" and "bb"', "exact"),
    ('Type =X("aa","bb") there', 'The call takes "a"', "none"),
    ('Type =X("a","b") there', 'The call takes "b"', "exact"),
    ("Type a catalog there", 'It names a "cat"', "none"),
    ("Type a catalog there", 'It names a "log"', "none"),
    ("The snake_case_name is set", 'It says "case"', "exact"),
    ("See http://x.org/2022/Bob there", 'Bob stands under "x.org" and "2022"', "exact"),
    ("See http://x.org/2022/Bob there", 'Rob stands under "x.org"', "approximate"),
    ("Rated by USA/EU-Agency(Oslo) only", "The EU, the USA and Oslo", "exact"),
    ("Rated by USA/EU only", "Rated by SA", "approximate"),
    ('{"name":"Jo Li","age":42,"on":"12/31/2022"}', '"Jo Li" was 42 on 31 December 2022', "exact"),
    ('{"name":"Jo Li","age":42,"on":"12/31/2022"}', '"Jo Li" was 43 on 31 December 2022', "none"),
    ('{"name":"Jo Li","age":42,"on":"12/31/2022"}', '"Jo Li" was 42 on 30 December 2022', "none"),
    ("Type =X(A1,42) there", 'It takes "42"', "exact"),
    ("Type =X(A1,42) there", 'It takes "2"', "none"),
    ("It has 1,577 sites", 'It has "577 sites"', "none"),
    ("It has 1,577 sites", 'It has "577"', "none"),
    ("It has 577.5 sites", 'It has "577"', "none"),
    ("log[03-Mar-2022]:start", "It began on 3 March 2022", "exact"),
    ("log[03-Mar-2022]:start", "It began in May 2022", "none"),
    ("会社は「売上高の増加」と発表した", "会社は「売上高」と発表した", "exact"),
    ("会社は「売上高の増加」と発表した", "会社は「利益」と発表した", "none"),
]


@pytest.mark.parametrize(("page", "said", "support"), [*STANDS, *WITHIN_WORDS])
def test_numbers_dates_names_and_phrases_of_a_fact_are_looked_for(page, said, support) -> None:
    made = make_page(1, [page])
    found = ground(FactDraft(made.ref, said, page, 0.5), PageText(made))
    assert isinstance(found, Grounded) and found.support == support, found


def test_what_stands_in_a_quote_that_was_found_stands_on_the_page() -> None:
    page = make_page(1, ['Enter =IF(A1="yes",Total_Net,"n/a") in B2'])
    found = PageText(page).find('"yes"')
    assert found is not None and found.exact and found.ranges == ((1, 2),)
    for quote in ('=IF(A1="yes",Total_Net,"n/a")', "IF(A1=“yes”, Total_Net, “n/a”)", ""):
        said = FactDraft(page.ref, 'Enter "yes", "n/a" and "Total_Net" in B2', quote, 0.5, words=((1, 2),))
        assert ground(said, PageText(page)).support == ("exact" if quote else "approximate")
    assert PageText(page).find('"no"') is None and PageText(page).find("ye") is None
    hinted = PageText(make_page(1, ['X("a") Y("a")'])).find('"a"', {1})
    assert hinted is not None and hinted.ranges == ((1, 2),)


def test_a_digit_changed_anywhere_in_a_number_is_never_borne_out() -> None:
    rng = random.Random(7)
    for _ in range(200):
        value = rng.randint(10_000, 9_999_999)
        at, digits = rng.randrange(len(str(value))), list(str(value))
        digits[at] = rng.choice([d for d in "123456789" if d != digits[at]])
        page = make_page(1, [f"Net sales in millions {value:,}"])
        for text, support in ((f"{value:,}", "exact"), (f"{int(''.join(digits)):,}", "none")):
            found = ground(FactDraft(page.ref, f"Net sales {text}", page.text, 0.5), PageText(page))
            assert found.support == support, (value, text)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("31 December 2022", {(2022, 12, 31)}),
        ("Dec 31st, 2022", {(2022, 12, 31)}),
        ("JUNE 5 2020", {(2020, 6, 5)}),
        ("2022-02-03", {(2022, 2, 3)}),
        ("02/03/2022", {(2022, 2, 3), (2022, 3, 2)}),
        ("31.12.22", {(2022, 12, 31), (1922, 12, 31)}),
        ("September 2021", {(2021, 9, 0)}),
        ("October 3", {(0, 10, 3)}),
        ("may 12", set()),
        ("13/13/2022", set()),
        ("10-K 1.2.3.4 3/4", set()),
    ],
)
def test_dates_are_read_in_every_form(text: str, days: set[tuple[int, int, int]]) -> None:
    assert {reading for day in dates(folded(text)) for reading in day.readings} == days


def test_scales_and_currencies_of_a_page_are_read() -> None:
    assert stated_scales("(Dollars in millions, shares in thousands)") == {1e6, 1e3}
    assert stated_scales("US$ bn") == {1e9} and stated_scales("£'000") == {1e3}
    assert stated_scales("thousands of people, a million years") == frozenset()
    assert currencies("USD 5 and €3") == {"$", "€"}
