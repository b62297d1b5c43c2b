"""MMLongBench answer scores and aggregates, against the golden vectors and by hand."""

import json
from pathlib import Path
from typing import Any

import pytest

from eval.metrics.distance import anls, levenshtein
from eval.metrics.mmlongbench import aggregate, aggregate_v2, is_unscoreable, score_answer


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_every_answer_scores_as_the_public_scorer_does(shared_vectors: Path) -> None:
    for row in rows(shared_vectors / "mmlongbench_v1_answer.jsonl"):
        score = score_answer(row["gold"], row["pred"], row["answer_format"])
        assert score == pytest.approx(row.get("expected", 0.0), abs=1e-9), row


def test_rows_on_which_the_public_scorer_raises_are_unscoreable_and_no_others(shared_vectors: Path) -> None:
    for row in rows(shared_vectors / "mmlongbench_v1_answer.jsonl"):
        assert is_unscoreable(row["gold"], row["pred"], row["answer_format"]) == ("expected" not in row), row


def test_aggregates_agree_with_the_public_scorers(shared_vectors: Path) -> None:
    for row in rows(shared_vectors / "mmlongbench_v1_aggregate.jsonl"):
        assert aggregate(row["samples"]) == pytest.approx(row["expected"], abs=1e-9)
    for row in rows(shared_vectors / "mmlongbench_v2_aggregate.jsonl"):
        assert aggregate_v2(row["samples"]) == pytest.approx(row["expected"], abs=1e-9)


@pytest.mark.parametrize(
    ("gold", "pred", "answer_format", "expected"),
    [
        ("10", "10", "Int", 1.0),
        ("10", "10.0", "Int", 1.0),
        ("10", "10%", "Int", 0.0),
        ("18.29%", "0.1829", "Float", 1.0),
        ("18.29%", "18.4%", "Float", 1.0),
        ("18.29%", "$19", "Float", 0.0),
        ("0.25", "not a number", "Float", 0.0),
        ("Rick Scott", "rick scott", "Str", 1.0),
        ("Rick Scott", "Rick", "Str", 0.0),
        ("2022-01-05", "2022-01-06", "Str", 0.0),
        ("['3', '1']", "['1', '3']", "List", 1.0),
        ("['3', '1']", "['1']", "List", 0.0),
        ("['alpha', 'beta']", "['beta', 'alpha']", "List", 1.0),
        ("Not answerable", "Not answerable", "None", 1.0),
    ],
)
def test_a_hand_written_answer_scores(gold: str, pred: str, answer_format: str, expected: float) -> None:
    assert score_answer(gold, pred, answer_format) == expected


def test_a_prediction_is_never_run_as_code() -> None:
    assert score_answer("['a']", "[__import__('os').getpid()]", "List") == 0.0
    assert is_unscoreable("['a']", "[__import__('os').getpid()]", "List")


def test_a_gold_answer_that_is_not_of_its_format_is_unscoreable() -> None:
    assert score_answer("21%", "21", "Int") == 0.0 and is_unscoreable("21%", "21", "Int")
    assert is_unscoreable("about 3", "3", "Float") and not is_unscoreable("3", "about 3", "Float")


def test_edit_distance_counts_insertions_deletions_and_substitutions() -> None:
    assert levenshtein("kitten", "sitting") == 3
    assert levenshtein("", "abc") == 3
    assert anls("abcd", "abxy") == 0.0


def test_aggregates_of_nothing_are_zero() -> None:
    assert aggregate([]) == {"accuracy": 0.0, "f1": 0.0}
    assert aggregate_v2([]) == {"accuracy": 0.0, "f1": 0.0}
    abstained = [{"answer": "3", "pred": "Not answerable", "score": 0.0}]
    assert aggregate(abstained) == {"accuracy": 0.0, "f1": 0.0}
