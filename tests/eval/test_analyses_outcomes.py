"""Chains, stages, layout, abstention and slices: by hand, and against other ways to the same number."""

import random
from itertools import permutations

import numpy as np
import pytest

from eval.analyses.abstention import (
    answered_scores,
    best_area,
    curve,
    risk_coverage_area,
    unplaced,
)
from eval.analyses.chain import COMBINATIONS, chain, chains
from eval.analyses.layout import BINS, FACTORS, by_layout, factors
from eval.analyses.slices import by_slice
from eval.analyses.stages import STAGES, stage, stages
from eval.analyses.types import Outcome
from indexes.types import PageRef


def refs(*pages: int, doc: str = "d") -> tuple[PageRef, ...]:
    return tuple(PageRef(doc, page) for page in pages)


def outcome(name: str = "q", **given) -> Outcome:
    values = {
        "document": "d",
        "answerable": True,
        "score": 1.0,
        "gold_pages": refs(1, 2),
        "predicted_pages": frozenset(refs(1, 2, 3)),
        "gold_regions": {"e1": PageRef("d", 1), "e2": PageRef("d", 2)},
        "regions": {"e1": "covered", "e2": "covered"},
        "facts": {"f1": True, "f2": True},
    }
    return Outcome(id=name, **{**values, **given})


# ---- chains


def test_a_complete_chain_has_all_pages_regions_and_facts():
    assert chain(outcome()) == (True, True, True)


def test_a_fact_that_is_not_said_a_region_that_is_imprecise_and_a_page_that_is_missing_each_break_the_chain():
    assert chain(outcome(facts={"f1": True, "f2": False})) == (True, True, False)
    imprecise = outcome(regions={"e1": "covered", "e2": "imprecise"})
    assert chain(imprecise) == (True, False, True)
    assert chain(imprecise, lenient=True) == (True, True, True)
    assert chain(outcome(predicted_pages=frozenset(refs(1)))) == (False, False, True)


def test_a_region_on_a_page_that_is_not_cited_is_not_covered_whatever_its_label_says():
    assert chain(outcome(predicted_pages=frozenset(refs(2)))) == (False, False, True)


def test_only_the_six_combinations_of_the_table_can_occur():
    draw = random.Random(1)
    for _ in range(500):
        made = outcome(
            predicted_pages=frozenset(p for p in refs(1, 2, 3) if draw.random() < 0.6),
            regions={e: draw.choice(["covered", "imprecise", "not_covered"]) for e in ("e1", "e2")},
            facts={"f1": draw.random() < 0.5},
        )
        assert chain(made) in COMBINATIONS


def test_chains_count_correct_answers_only_and_say_how_many_could_not_be_judged():
    found = chains(
        [
            outcome("a"),
            outcome("b", facts={"f1": False}),
            outcome("c", score=0.0),
            outcome("d", regions=None),
            outcome("e", answerable=False),
            outcome("f", score=None),
            outcome("g", gold_regions={"e1": PageRef("d", 1)}, regions={"e1": "covered"}),
        ]
    )
    assert (found.correct, found.unjudged, found.judged) == (4, 2, 2)
    assert found.share((True, True, True)) == found.share((True, True, False)) == 0.5
    assert chains([]).share((True, True, True)) is None


# ---- stages


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"score": 1.0}, None),
        ({"score": None}, None),
        ({"failed": True}, "run"),
        ({"answerable": False}, "answered"),
        ({"gold_pages": ()}, "unknown"),
        ({"predicted_pages": frozenset(refs(1))}, "page"),
        ({"regions": {"e1": "covered", "e2": "not_covered"}}, "bbox"),
        ({"regions": {"e1": "covered", "e2": "imprecise"}}, "bbox"),
        ({"regions": None}, "later"),
        ({"facts": {"f1": True, "f2": False}}, "fact"),
        ({"facts": None}, "later"),
        ({}, "answer"),
    ],
)
def test_the_stage_is_the_first_that_went_wrong(given, expected):
    assert stage(outcome(**{"score": 0.0, **given})) == expected


def test_stages_add_up_to_the_wrong_answers():
    made = [outcome(str(i), score=s) for i, s in enumerate([0.0, 0.3, 0.5, 1.0, None])]
    made.append(outcome("lost", score=0.0, failed=True))
    found = stages(made)
    assert (found.wrong, found.unscored) == (3, 1)
    assert found.counts["answer"] == 2 and found.counts["run"] == 1
    assert list(found.counts) == list(STAGES)


# ---- layout


def test_the_six_factors_of_scattered_pages():
    found = factors([3, 4, 10, 30], 60)
    assert found == {
        "pages": 4,
        "span": 28,
        "gap": 20,
        "distance": pytest.approx((1 + 7 + 27 + 6 + 26 + 20) / 6),
        "clusters": 3,
        "position": pytest.approx(47 / 4 / 60),
    }


def test_one_page_has_no_distances_and_an_unknown_length_no_position():
    assert factors([7, 7]) == {"pages": 1, "span": 1, "gap": 0, "distance": 0, "clusters": 1}
    with pytest.raises(ValueError):
        factors([])


def test_factors_agree_with_numpy():
    draw = np.random.default_rng(0)
    for _ in range(50):
        pages = np.unique(draw.integers(1, 200, draw.integers(2, 12)))
        if len(pages) < 2:
            continue
        found = factors(draw.permutation(pages).tolist(), 200)
        upper = np.abs(pages[:, None] - pages)[np.triu_indices(len(pages), 1)]
        assert found["distance"] == pytest.approx(upper.mean())
        assert found["gap"] == np.diff(pages).max()
        assert found["clusters"] == 1 + np.count_nonzero(np.diff(pages) > 1)
        assert found["position"] == pytest.approx(pages.mean() / 200)


def test_every_scored_answerable_question_of_one_document_is_in_one_bin_of_each_factor():
    draw = random.Random(2)
    made = [
        outcome(str(i), gold_pages=refs(*sorted(draw.sample(range(1, 90), draw.randint(1, 7)))), pages=90)
        for i in range(200)
    ]
    left_out = [
        outcome("unscored", score=None),
        outcome("unanswerable", answerable=False),
        outcome("two", gold_pages=(*refs(1), *refs(2, doc="other"))),
        outcome("none", gold_pages=()),
    ]
    found = by_layout([*made, *left_out])
    assert set(found) == set(FACTORS) == set(BINS)
    for bins in found.values():
        assert sorted(o.id for b in bins for o in b.outcomes) == sorted(o.id for o in made)
    assert {o.id for o in found["pages"][0].outcomes} == {o.id for o in made if len(o.gold_pages) == 1}


# ---- abstention


def answer(name: str, confidence: float | None, score: float, **given) -> Outcome:
    return outcome(name, confidence=confidence, score=score, **given)


RUN = [
    answer("a", 0.9, 1.0),
    answer("b", 0.8, 0.0),
    answer("c", 0.8, 1.0),
    answer("d", 0.4, 0.0, answerable=False),
    answer("e", 0.0, 1.0, answerable=False, abstained=True),
    answer("f", 0.0, 0.0, abstained=True),
    answer("g", None, 0.0, failed=True),
]


def test_the_curve_moves_as_the_threshold_falls():
    found = curve(RUN)
    assert [(p.threshold, p.answered) for p in found] == [(0.9, 1), (0.8, 3), (0.4, 4)]
    assert [p.coverage for p in found] == pytest.approx([1 / 7, 3 / 7, 4 / 7])
    assert [p.selective_accuracy for p in found] == pytest.approx([1, 2 / 3, 2 / 4])
    # right: the answers, the abstention from e, and d as long as it is withheld
    assert [p.accuracy for p in found] == pytest.approx([3 / 7, 4 / 7, 3 / 7])


def test_the_area_does_not_depend_on_the_order_of_ties():
    scores = [1.0, 0.0, 1.0, 0.0, 0.5]
    made = [
        answer(str(i), c, s) for i, (c, s) in enumerate(zip([0.9, 0.5, 0.5, 0.5, 0.1], scores, strict=True))
    ]
    areas = []
    for order in permutations([1, 2, 3]):
        risks = [1 - scores[i] for i in (0, *order, 4)]
        areas.append(np.mean(np.cumsum(risks) / np.arange(1, 6)))
    assert risk_coverage_area(curve(made)) == pytest.approx(np.mean(areas))


def test_no_order_is_better_than_that_of_the_scores():
    draw = random.Random(5)
    made = [answer(str(i), draw.random(), draw.choice([0.0, 0.5, 1.0])) for i in range(40)]
    best = best_area(curve(made), answered_scores(made))
    assert best is not None and best <= risk_coverage_area(curve(made))
    oracle = [answer(o.id, o.score, o.score) for o in made]
    assert risk_coverage_area(curve(oracle)) == pytest.approx(best)


def test_answers_without_a_confidence_are_in_no_curve_and_are_counted():
    made = [answer("a", None, 1.0), answer("b", 0.5, 1.0)]
    assert unplaced(made) == 1
    assert [p.coverage for p in curve(made)] == [1.0]


def test_a_run_that_answers_nothing_has_no_curve():
    assert curve([answer("a", 0.0, 0.0, abstained=True)]) == []
    assert risk_coverage_area([]) is None and best_area([], []) is None


# ---- slices


def test_an_outcome_is_in_every_value_of_its_slices():
    made = [
        outcome("a", slices={"source": ("Table", "Chart")}),
        outcome("b", slices={"source": ("Table",)}, answerable=False),
    ]
    found = by_slice(made)
    assert [o.id for o in found["source"]["Table"]] == ["a", "b"]
    assert [o.id for o in found["source"]["Chart"]] == ["a"]
    assert {v: len(m) for v, m in found["answerable"].items()} == {"no": 1, "yes": 1}
