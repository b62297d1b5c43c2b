"""DocScope's pages, regions and facts, and answers by rules: against brute force and by hand."""

import json
import random
from pathlib import Path

import numpy as np
import pytest

from eval.metrics.answers import score_answer
from eval.metrics.facts import fact_rates, word_support
from eval.metrics.pages import PagePRF, aggregate, failed_prf, page_prf
from eval.metrics.regions import LabelledPage, geometric_label, overlap, region_prf, union_area
from indexes.types import BBox

HALF = BBox(0.0, 0.0, 0.5, 1.0)


def test_page_scores_agree_with_the_public_scorer(shared_vectors: Path) -> None:
    rows = (shared_vectors / "docscope_pages.jsonl").read_text(encoding="utf-8").splitlines()
    for row in map(json.loads, rows):
        result = page_prf(row["predicted"], row["gold"])
        assert all(result[k] == pytest.approx(row["expected"][k], abs=1e-9) for k in result), row  # type: ignore[literal-required]


def test_pages_count_as_sets() -> None:
    assert page_prf([4, 4, 5], [4]) == {
        "tp": 1, "fp": 1, "fn": 0, "precision": 0.5, "recall": 1.0, "f1": pytest.approx(2 / 3)
    }  # fmt: skip
    assert page_prf([], [])["f1"] == 1.0
    assert page_prf([1], [])["recall"] == 1.0
    assert page_prf([], [1])["precision"] == 1.0


def test_macro_is_the_mean_of_questions_and_micro_is_over_summed_counts() -> None:
    means = aggregate([page_prf([1, 2], [1]), page_prf([3], [3, 4, 5, 6])])
    assert means is not None and means["n"] == 2
    assert means["precision"] == 0.75 and means["recall"] == 0.625
    assert means["f1"] == pytest.approx((2 / 3 + 0.4) / 2)
    assert means["micro_precision"] == pytest.approx(2 / 3) and means["micro_recall"] == pytest.approx(2 / 5)
    assert aggregate([]) is None


def test_a_failed_question_counts_as_wrong_in_the_strict_mean() -> None:
    rows: list[PagePRF] = [page_prf([1], [1]), failed_prf([2, 3])]
    means = aggregate(rows)
    assert means is not None and means["f1"] == 0.5 and means["micro_recall"] == pytest.approx(1 / 3)


def random_box(draw: random.Random) -> BBox:
    return BBox.clipped(*(draw.randint(0, 40) / 40 for _ in range(4)))


def raster(boxes: list[BBox]) -> "np.ndarray[tuple[int, int], np.dtype[np.bool_]]":
    """The boxes on a grid of 40 x 40 cells; corners lie on the grid, so that areas are exact."""
    grid = np.zeros((40, 40), bool)
    for b in boxes:
        grid[round(b.y1 * 40) : round(b.y2 * 40), round(b.x1 * 40) : round(b.x2 * 40)] = True
    return grid


def test_overlaps_agree_with_counting_cells() -> None:
    draw = random.Random(0)
    for _ in range(300):
        gold = random_box(draw)
        predicted = [random_box(draw) for _ in range(draw.randint(0, 5))]
        g, u = raster([gold]), raster(predicted)
        both, shared = (g | u).sum(), (g & u).sum()
        found = overlap(gold, predicted)
        assert union_area(predicted) == pytest.approx(u.sum() / 1600)
        assert found.iou == pytest.approx(shared / both if shared else 0)
        assert found.iom == pytest.approx(shared / min(g.sum(), u.sum()) if shared else 0)
        assert found.gold_recall == pytest.approx(shared / g.sum() if shared else 0)


def test_labels_come_from_gold_recall_unless_told_otherwise() -> None:
    page = [BBox(0, 0, 1, 1)]
    assert geometric_label(HALF, page) == "covered"
    assert geometric_label(HALF, [BBox(0, 0, 0.5, 0.5)]) == "imprecise"
    assert geometric_label(HALF, [BBox(0, 0, 0.5, 0.5)], "iom") == "covered"
    assert geometric_label(HALF, [BBox(0, 0, 0.5, 0.5)], thresholds=(0.5, 0.2)) == "covered"
    assert geometric_label(HALF, [BBox(0.9, 0, 1, 1)]) == "not_covered"
    assert geometric_label(HALF, []) == "not_covered"


def test_regions_follow_formula_2_of_the_paper() -> None:
    pages = [
        LabelledPage(("covered", "imprecise", "not_covered"), 1),
        LabelledPage(("covered", None), 4),
        LabelledPage((None,), 2),
    ]
    strict = region_prf(pages, missed=4)
    # h: 1 of 3 and 1 of 1; boxes matched: min(1, 1) and min(1, 4)
    assert (strict["hits"], strict["gold"], strict["matched"], strict["predicted"]) == (2, 4, 2, 5)
    assert strict["recall"] == 0.5 and strict["precision"] == 0.4 and strict["unscored"] == 2
    assert strict["f1"] == pytest.approx(2 * 0.5 * 0.4 / 0.9) and strict["recall_all"] == 0.25
    lenient = region_prf(pages, lenient=True)
    assert (lenient["hits"], lenient["matched"]) == (3, 2) and lenient["recall"] == 0.75


def test_rates_of_nothing_are_unknown_not_zero() -> None:
    empty = region_prf([])
    assert empty["recall"] is empty["precision"] is empty["f1"] is empty["recall_all"] is None
    assert region_prf([], missed=2)["recall_all"] == 0
    assert fact_rates([None])["rate"] is None and fact_rates([], missed=1)["rate_all"] == 0


def test_facts_are_rated_among_those_judged() -> None:
    rates = fact_rates([True, False, None, True], missed=3)
    assert (rates["consistent"], rates["judged"], rates["unscored"]) == (2, 3, 1)
    assert rates["rate"] == pytest.approx(2 / 3) and rates["rate_all"] == pytest.approx(2 / 6)


FACT = "In Table 7, the 11-30 mmbf category has 0 sawmills for Eastern Washington."


@pytest.mark.parametrize(
    ("prose", "cited", "expected"),
    [
        ("Table 7 shows 0 sawmills in the 11-30 mmbf category of Eastern Washington.", [], True),
        ("Table 7 shows 5 sawmills in the 11-30 mmbf category of Eastern Washington.", [], False),
        ("Nothing of the kind.", ["The category has 0 sawmills"], True),
        ("Nothing of the kind.", ["The category has 5 sawmills"], False),
        ("Nothing of the kind.", ["Eastern Washington"], False),
        ("", [], False),
    ],
)
def test_words_support_a_fact(prose: str, cited: list[str], expected: bool) -> None:
    assert word_support(FACT, prose, cited) is expected


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Merchandise inventories, February 2 2019: $5,409 million", True),
        ("Merchandise inventories, February 2 2019: $5,410 million", False),
        ("Accounts payable, February 2 2019: $5,409 million", False),
    ],
)
def test_a_value_under_its_label_is_enough_of_a_tables_row(sentence: str, expected: bool) -> None:
    assert word_support("Merchandise inventories 5,409 5,209", "", [sentence]) is expected
    assert word_support("Merchandise inventories $ 5,409 (5,209) 3.5%", "", [sentence]) is expected


@pytest.mark.parametrize(
    ("gold", "pred", "expected"),
    [
        ("$1577.00", "1,577", True),
        ("$1577.00", "1,600", False),
        ("5.1%", "0.051", True),
        ("No, the company manages its CAPEX: 5.1%", "No.", True),
        ("No, the company manages its CAPEX: 5.1%", "Yes, at 5.1%", False),
        ("Net sales", "Yes", False),
        ("Cost of goods sold", "It is the cost of goods sold.", True),
        ("The board of directors of the company decided", "the", False),
        ("Acme", "Acmeville", False),
        ("Acme", "Unanswerable", False),
        ("Acme", "", False),
    ],
)
def test_answers_are_compared_by_rules(gold: str, pred: str, expected: bool) -> None:
    assert score_answer(gold, pred) is expected


def test_an_unanswerable_question_wants_an_abstention() -> None:
    assert score_answer("", "Unanswerable", answerable=False)
    assert not score_answer("Unanswerable", "42", answerable=False)
    assert not score_answer("", "", answerable=False)
