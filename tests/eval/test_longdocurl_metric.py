"""LongDocURL's answer score and means, against the golden vectors and by hand."""

import json
from pathlib import Path

import pytest

from eval.metrics.longdocurl import aggregate, is_unscoreable, score_answer


def test_every_answer_scores_as_the_public_scorer_does(shared_vectors: Path) -> None:
    lines = (shared_vectors / "longdocurl_answer.jsonl").read_text(encoding="utf-8").splitlines()
    for row in map(json.loads, lines):
        pair = row["gold"], row["pred"], row["answer_format"]
        assert score_answer(*pair) == pytest.approx(row.get("expected", 0.0), abs=1e-9), row
        assert is_unscoreable(*pair) == ("expected" not in row), row


@pytest.mark.parametrize(
    ("gold", "pred", "answer_format", "expected"),
    [
        (5, "5", "Integer", 1.0),
        (5, "5.0", "Integer", 0.0),
        ("1,234", 1234, "Integer", 1.0),
        (0.53, "53%", "Float", 1.0),
        ("12 kg", "12.1", "Float", 1.0),
        ("12 kg", "13", "Float", 0.0),
        ("Puerto Rican", "puerto rican", "String", 1.0),
        ("page 12", "page 13", "String", 0.0),
        (["Dog", "Cat"], ["cat", "dog"], "List", 1.0),
        (["Dog", "Cat"], "['Dog', 'Cat', 'Ape', 'Emu']", "List", 0.5**0.5),
        (["1", "2"], ["2", "1"], "List", 0.0),
        ([{"a": 1, "b": "x"}], "['1-x']", "List", 1.0),
        ("Not answerable", "Not answerable", "None", 1.0),
        ("Not answerable", "Fail to extract", "None", 0.0),
    ],
)
def test_a_hand_written_answer_scores(
    gold: object, pred: object, answer_format: str, expected: float
) -> None:
    assert score_answer(gold, pred, answer_format) == pytest.approx(expected)


@pytest.mark.parametrize("pred", ["[]", "[{'a': 1}, 2]"])
def test_what_the_public_scorer_raises_on_scores_zero_and_is_counted(pred: str) -> None:
    assert score_answer(["a"], pred, "List") == 0.0 and is_unscoreable(["a"], pred, "List")


def test_a_prediction_is_never_run_as_code(tmp_path: Path) -> None:
    target = tmp_path / "made"
    pred = f"[open({str(target)!r}, 'w').write('x')]"
    assert score_answer(["a"], pred, "List") == 0.0
    assert not target.exists()


def test_a_huge_list_is_a_text_and_ends_at_once() -> None:
    assert score_answer(["a"], "[" + "1, " * 100_000 + "]", "List") == 0.0


def test_the_rectified_mean_counts_every_question_of_the_benchmark() -> None:
    assert aggregate([1.0, 0.5]) == {"mean": 0.75, "rectified": 1.5 / 2325}
    assert aggregate([]) == {"mean": 0.0, "rectified": 0.0}
