"""What each round buys, by hand and against counting from the end."""

import random

import pytest

from eval.analyses.rounds import (
    KINDS,
    MEASURES,
    Journey,
    RoundTaken,
    found,
    last_gain,
    last_gainful,
    last_useful,
    still_running,
    with_gold,
)
from indexes.types import PageRef


def pages(*numbers: int) -> frozenset[PageRef]:
    return frozenset(PageRef("d", n) for n in numbers)


LONG = Journey(
    "long",
    "d",
    pages(2, 5),
    (
        RoundTaken(pages(1, 2, 3), pages(1), 1.0, 10),
        RoundTaken(pages(4, 5), pages(2), 3.0, 30),
        RoundTaken(pages(6), pages(6), 2.0, 20),
    ),
    useful=2,
)
SHORT = Journey("short", "d", pages(1), (RoundTaken(pages(1, 9), pages(1), 2.0, 0),), useful=1)
NO_GOLD = Journey("none", "d", frozenset(), (RoundTaken(pages(3), pages(3), 3.0, 5),))


def test_pages_add_up_over_the_rounds():
    assert [found(LONG, r, "retrieved", "recall") for r in (1, 2, 3)] == [0.5, 1, 1]
    assert [found(LONG, r, "read", "recall") for r in (1, 2, 3)] == [0, 0.5, 0.5]
    assert [found(LONG, r, "read", "any_hit") for r in (1, 2, 3)] == [0, 1, 1]
    assert [found(LONG, r, "retrieved", "all_hit") for r in (1, 2, 3)] == [0, 1, 1]


def test_a_question_that_stopped_carries_its_last_value():
    assert [found(SHORT, r, "read", "recall") for r in (1, 2, 8)] == [1, 1, 1]


def test_a_question_without_gold_pages_is_refused_not_counted_as_nothing():
    with pytest.raises(ValueError, match="none"):
        found(NO_GOLD, 1, "read", "recall")
    assert with_gold([LONG, NO_GOLD]) == [LONG]


def test_only_those_that_took_a_round_still_run_in_it():
    assert still_running([LONG, SHORT], 1) == [LONG, SHORT]
    assert still_running([LONG, SHORT], 2) == [LONG]


def test_the_last_useful_round_is_the_last_that_read_a_new_gold_page_or_recorded_a_cited_fact():
    assert (last_gain(LONG), last_gain(LONG, "retrieved"), last_gain(SHORT)) == (2, 2, 1)
    counted = last_useful([LONG, SHORT, NO_GOLD], ["long", "none"])
    assert counted.evidence == {0: 0, 1: 1, 2: 1, 3: 0}
    assert counted.answer == {0: 1, 1: 0, 2: 1, 3: 0}


def test_the_last_gainful_value_is_the_first_of_the_best():
    assert last_gainful([0.2, 0.4, 0.4, 0.3]) == 2
    assert last_gainful([0.5, 0.5]) == 1
    assert last_gainful([]) == 0


def test_prefixes_agree_with_counting_pages_one_by_one():
    draw = random.Random(0)
    for _ in range(100):
        rounds = tuple(
            RoundTaken(pages(*draw.sample(range(1, 20), 4)), pages(*draw.sample(range(1, 20), 2)))
            for _ in range(draw.randint(1, 5))
        )
        gold = pages(*draw.sample(range(1, 20), draw.randint(1, 4)))
        journey = Journey("q", "d", gold, rounds)
        for after in range(1, 7):
            for kind in KINDS:
                hit = sum(any(page in getattr(taken, kind) for taken in rounds[:after]) for page in gold)
                expected = (hit / len(gold), float(hit > 0), float(hit == len(gold)))
                got = tuple(found(journey, after, kind, measure) for measure in MEASURES)
                assert got == pytest.approx(expected)
