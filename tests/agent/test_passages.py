"""Passages whose words stand on a page in another order, with slips, cut off, or with others between."""

import random

import pytest
from agent_fakes import make_page

from agent.grounding import ground
from agent.matching import PageText
from agent.passages import atoms, find_passage, one_slip
from agent.types import FactDraft

TABLE = """Year ended December 31 | 2022 | 2021
Net sales of the cable works | 34,229 | 35,355
Cost of goods sold in plants | 19,232 | 18,795
Research and development | 1,862 | 1,994
Total operating expenses | 27,690 | 27,986"""
PAGE = make_page(
    3,
    [
        "The quarterly report speaks of harbours and of the weather in spring",
        ("table", TABLE),
        "Growth came from the opening of forty seven stores since January\n"
        "and from a favour-\nable mix of channels in the northern region\n"
        "while freight was dearer than in any year before",
        "Signed in Bergen by the chair of the board and the chief of finance",
    ],
)


def words_of(passage) -> list[str]:
    return [PAGE.words.texts[i] for start, end in passage.ranges for i in range(start, end)]


def rows(first: int, last: int) -> list[str]:
    return [w for line in TABLE.splitlines()[first : last + 1] for w in line.replace("|", " ").split()]


def test_a_table_told_column_by_column_is_its_rows() -> None:
    lines = [line.split(" | ") for line in TABLE.splitlines()[1:4]]
    told = " ".join(cell for column in zip(*lines, strict=True) for cell in column)
    found = find_passage(told, PAGE)
    assert words_of(found) == rows(1, 3) and found.share == 1 and found.numbers
    assert PageText(PAGE).find(told).exact is False


@pytest.mark.parametrize("seed", range(10))
def test_words_in_any_order_are_found_where_they_stand(seed) -> None:
    rng = random.Random(seed)
    start = rng.randrange(len(PAGE.words) - 12)
    words = list(PAGE.words.texts[start : start + rng.randint(8, 12)])
    told = words[:]
    rng.shuffle(told)
    found = find_passage(" ".join(told), PAGE)
    assert found.share > 0.95
    assert {i for span in found.ranges for i in range(*span)} >= set(range(start + 1, start + len(words) - 1))


@pytest.mark.parametrize(
    "told",
    [
        "Growth came fron the openimg of forty seven stores since January",  # slips
        "Growth camefrom theopening of forty seven stores sinceJanuary",  # spaces lost
        "Growth from the opening of forty stores since",  # words lost
        "According to it Growth came from the opening of forty seven stores since January it says so",
        "Growth came from the opening of forty seven stores since Jan",  # cut off
    ],
)
def test_slips_lost_spaces_lost_words_and_words_around_do_not_hide_a_line(told) -> None:
    found = words_of(find_passage(told, PAGE))
    assert {"Growth", "opening", "forty", "stores"} <= set(found)
    assert set(found) <= set("Growth came from the opening of forty seven stores since January".split())


def test_a_word_cut_at_the_end_of_a_line_is_whole() -> None:
    told = "region northern the in channels of mix favourable a"
    found = find_passage(told, PAGE)
    assert {"favour-", "able", "northern"} <= set(words_of(found)) and found.share == 1


def test_two_places_far_apart_are_both_found() -> None:
    told = "1,862 1,994 development Research and Signed in Bergen by the chair of the board"
    found = words_of(find_passage(told, PAGE))
    assert {"Research", "1,862", "Bergen", "board"} <= set(found) and "Growth" not in found


def test_a_number_cut_off_at_the_end_says_where_but_is_not_that_number() -> None:
    found = find_passage("Research and development 1,862 1,9", PAGE)
    assert words_of(found) == rows(3, 3) and not found.numbers
    whole = find_passage("Growth came from the opening of forty seven sto", PAGE)
    assert "stores" in words_of(whole) and whole.share == 1


def test_numbers_must_stand_exactly_and_a_hint_chooses_between_equals() -> None:
    assert not find_passage("Research and development 1,863 1,994", PAGE).numbers
    assert PageText(PAGE).find("1,994 development 1,863 and Research") is None
    assert PageText(PAGE).find("1,994 development 1,862 and Research") is not None
    twice = make_page(1, ["one two three four", "between", "one two three four"])
    assert find_passage("four three two one", twice).ranges == ((0, 4),)
    assert find_passage("four three two one", twice, {6}).ranges == ((5, 9),)


@pytest.mark.parametrize("told", ["", "---", "zebras juggle quarks", "42"])
def test_what_is_nowhere_is_none(told) -> None:
    assert find_passage(told, PAGE) is None
    assert find_passage("a b c", make_page(1, ["\u2022 \u2022"])) is None


def test_atoms_take_forms_of_writing_away() -> None:
    assert atoms("(3M\u2019s 1,577.5\u00a0\ufb01t, year-over-year)") == [
        *("3", "ms", "1577.5", "fit", "year", "over", "year")
    ]
    assert one_slip("revenue", "revenuc") and one_slip("stores", "store") and not one_slip("cat", "dog")


def test_a_long_passage_over_a_page_is_found_in_time_and_is_not_the_page() -> None:
    rng = random.Random(1)
    lines = [" ".join("".join(rng.choices("abcdefghij", k=6)) for _ in range(12)) for _ in range(80)]
    page = make_page(1, ["\n".join(lines[i : i + 8]) for i in range(0, 80, 8)])
    told = " ".join(lines[20:50]).split()
    rng.shuffle(told)
    found = find_passage(" ".join(told), page)
    assert found.ranges == ((240, 600),) and found.share == 1
    result = ground(FactDraft(page.ref, "it", " ".join(told), 0.5), PageText(page))
    assert sum(region.bbox.area for region in result.regions) < 0.6
