"""Intervals over documents, compared with resampling by hand and with what is known of simple cases."""

import random

import numpy as np
import pytest

from eval.intervals import difference, draws, f1, grouped, interval, ratio


def test_sums_are_taken_by_document() -> None:
    names, sums = grouped(["a", "b", "a"], [(1, 1), (0, 1), (0.5, 1)])
    assert names == ["a", "b"]
    assert sums.tolist() == [[1.5, 2.0], [0.0, 1.0]]


def test_every_draw_takes_as_many_documents_as_there_are() -> None:
    counts = draws(7, samples=50)
    assert counts.shape == (50, 7)
    assert set(counts.sum(axis=1)) == {7.0}
    assert np.array_equal(counts, draws(7, samples=50)), "the same draws every time"


def test_an_interval_agrees_with_resampling_documents_one_by_one() -> None:
    dice = random.Random(3)
    documents = {f"d{i}": [float(dice.random() < 0.2 + 0.6 * (i % 2)) for _ in range(8)] for i in range(30)}
    groups = [name for name, scores in documents.items() for _ in scores]
    parts = [(score, 1.0) for scores in documents.values() for score in scores]
    found = interval(grouped(groups, parts)[1], ratio, samples=4000)
    assert found is not None
    means = []
    for _ in range(4000):
        drawn = [s for name in dice.choices(list(documents), k=30) for s in documents[name]]
        means.append(sum(drawn) / len(drawn))
    means.sort()
    assert found == pytest.approx((means[100], means[3900]), abs=0.015)


def test_documents_are_drawn_and_not_questions() -> None:
    """Ten documents whose 20 questions all come out alike are ten observations, not 200."""
    groups = [f"d{i // 20}" for i in range(200)]
    parts = [(float(i // 20 < 5), 1.0) for i in range(200)]
    by_document = interval(grouped(groups, parts)[1], ratio)
    by_question = interval(np.asarray(parts), ratio)
    assert by_document is not None and by_question is not None
    assert by_document[1] - by_document[0] > 3 * (by_question[1] - by_question[0])


def test_one_document_has_no_interval() -> None:
    assert interval(np.array([[3.0, 4.0]]), ratio) is None
    assert difference(np.array([[3.0, 4.0]]), np.array([[2.0, 4.0]]), ratio) is None


def test_a_figure_without_a_denominator_does_not_exist() -> None:
    assert np.isnan(ratio(np.array([0.0, 0.0])))
    assert interval(np.zeros((5, 2)), ratio) is None


def test_f1_is_the_harmonic_mean() -> None:
    recall, precision = 6 / 10, 6 / 8
    assert f1(np.array([6.0, 10.0, 8.0])) == pytest.approx(2 * recall * precision / (recall + precision))
    assert f1(np.array([0.0, 10.0, 8.0])) == 0.0


def test_the_difference_of_a_run_to_itself_is_nothing() -> None:
    sums = np.array([[float(i % 3), 3.0] for i in range(20)])
    found = difference(sums, sums, ratio)
    assert found is not None
    assert (found.value, found.low, found.high, found.p) == (0.0, 0.0, 0.0, 1.0)


def test_a_small_difference_everywhere_is_surer_than_intervals_of_the_runs_say() -> None:
    first = np.array([[float(i), 20.0] for i in range(20)])
    second = first + np.array([1.0, 0.0])
    found = difference(first, second, ratio)
    alone = interval(first, ratio)
    assert found is not None and alone is not None
    assert found.value == pytest.approx(0.05)
    assert found.low == pytest.approx(found.high) == pytest.approx(0.05)
    assert found.p < 0.01
    assert alone[1] - alone[0] > 0.2


def test_a_difference_by_chance_has_a_large_p() -> None:
    dice = np.random.default_rng(1)
    first, second = (np.stack([dice.integers(0, 2, 60), np.ones(60)], axis=1).astype(float) for _ in range(2))
    found = difference(first, second, ratio)
    assert found is not None and found.p > 0.05
    assert found.low < 0 < found.high


def test_runs_on_other_documents_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="expected the same documents"):
        difference(np.zeros((3, 2)), np.zeros((4, 2)), ratio)
