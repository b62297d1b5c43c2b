"""Judge alignment, against formulas written out by hand and counting pairs."""

import json
import math
import random
from itertools import combinations
from pathlib import Path

import pytest

pytest.importorskip("sklearn")
pytest.importorskip("krippendorff")

from eval.align import align, as_markdown, main, read_items  # noqa: E402
from eval.analyses.agreement import agreement, alpha, correlations  # noqa: E402
from indexes.errors import InputError  # noqa: E402

YES_NO = ("wrong", "correct")
HUMAN = ["correct"] * 20 + ["wrong"] * 10
JUDGED = ["correct"] * 17 + ["wrong"] * 3 + ["wrong"] * 8 + ["correct"] * 2


def test_kappa_mcc_and_macro_f1_are_those_of_the_two_by_two_table():
    found = agreement(HUMAN, JUDGED, YES_NO, ordered=False)
    tp, fn, tn, fp = 17, 3, 8, 2
    observed = 25 / 30
    chance = (20 * 19 + 10 * 11) / 900
    f1 = [2 * 17 / (2 * 17 + 5), 2 * 8 / (2 * 8 + 5)]
    assert found.accuracy == pytest.approx(observed)
    assert found.kappa == pytest.approx((observed - chance) / (1 - chance))
    assert found.macro_f1 == pytest.approx(sum(f1) / 2)
    assert found.mcc == pytest.approx((tp * tn - fp * fn) / math.sqrt(19 * 20 * 10 * 11))


def nominal_alpha_by_hand(first: list[str], second: list[str]) -> float:
    """Two raters, no gaps: 1 - observed / expected disagreement over the pooled labels."""
    pooled = [*first, *second]
    observed = sum(a != b for a, b in zip(first, second, strict=True)) / len(first)
    pairs = list(combinations(pooled, 2))
    expected = sum(a != b for a, b in pairs) / len(pairs)
    return 1 - observed / expected


def test_alpha_of_two_raters_is_that_of_counting_pairs():
    found = alpha([HUMAN, JUDGED], YES_NO, ordered=False)
    assert found == pytest.approx(nominal_alpha_by_hand(HUMAN, JUDGED))


def test_alpha_takes_raters_who_did_not_see_every_item():
    with_gaps = [*HUMAN[:5], *([None] * 25)]
    assert alpha([HUMAN, JUDGED, with_gaps], YES_NO, ordered=False) != pytest.approx(
        nominal_alpha_by_hand(HUMAN, JUDGED)
    )
    assert alpha([HUMAN, [None] * 30], YES_NO, ordered=False) is None


def test_measures_that_are_not_defined_on_one_label_are_none_and_not_zero():
    found = agreement(["correct"] * 4, ["correct"] * 4, YES_NO, ordered=False)
    assert (found.accuracy, found.macro_f1) == (1.0, 1.0)
    assert found.kappa is found.mcc is found.alpha is None


def tau_b_by_counting(scores: list[float], labels: list[float]) -> float:
    concordant = discordant = ties_s = ties_l = 0
    pairs = list(combinations(range(len(scores)), 2))
    for i, j in pairs:
        a, b = scores[i] - scores[j], labels[i] - labels[j]
        ties_s, ties_l = ties_s + (a == 0), ties_l + (b == 0)
        concordant += a * b > 0
        discordant += a * b < 0
    return (concordant - discordant) / math.sqrt((len(pairs) - ties_s) * (len(pairs) - ties_l))


def test_tau_b_is_that_of_counting_pairs_and_its_interval_holds_it():
    draw = random.Random(3)
    labels = [float(draw.randrange(3)) for _ in range(60)]
    good = [label + draw.random() for label in labels]
    noise = [round(draw.random(), 1) for _ in labels]
    single, pairs = correlations({"good": good, "noise": noise}, labels, resamples=200)
    for name, scores in (("good", good), ("noise", noise)):
        assert single[name].value == pytest.approx(tau_b_by_counting(scores, labels))
        assert single[name].low <= single[name].value <= single[name].high
    difference = pairs["good", "noise"]
    assert difference.low > 0 and difference.p < 0.05
    same, _ = correlations({"good": good, "noise": noise}, labels, resamples=200)
    assert same == single


def test_a_score_that_never_varies_has_no_tau_b():
    single, pairs = correlations(
        {"flat": [1.0, 1.0, 1.0], "up": [1.0, 2.0, 3.0]}, [0.0, 1.0, 2.0], resamples=20
    )
    assert single["flat"].value is None and single["up"].value == pytest.approx(1.0)
    assert pairs["flat", "up"].p is None


def write(path: Path, rows: list[dict]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


ROWS = [
    {
        "id": str(i),
        "stage": "region",
        "human": human,
        "judges": {"geometric": judged},
        "scores": {"iou": score, "iom": score / 2},
    }
    for i, (human, judged, score) in enumerate(
        [
            (["covered", "covered", "imprecise"], "covered", 0.9),
            (["not_covered", "not_covered", None], "not_covered", 0.1),
            (["imprecise", "imprecise", "imprecise"], "covered", 0.5),
            (["covered", "not_covered"], "covered", 0.4),
            (["covered", "covered"], None, 0.8),
        ]
    )
]


def test_people_are_counted_by_majority_and_ties_and_unjudged_items_are_said(tmp_path):
    found = align(read_items(write(tmp_path / "labels.jsonl", ROWS)), resamples=50)["region"]
    assert (found["items"], found["tied"]) == (5, 1)
    assert found["judges"]["geometric"]["items"] == 3
    assert found["judges"]["geometric"]["unjudged"] == 1
    assert found["judges"]["geometric"]["accuracy"] == pytest.approx(2 / 3)
    assert found["tau_b"]["iou"]["items"] == 4
    assert found["people_alpha"] is not None


def test_an_adjudicated_label_settles_a_tie(tmp_path):
    rows = [{**row, "adjudicated": "covered"} if row["id"] == "3" else row for row in ROWS]
    found = align(read_items(write(tmp_path / "labels.jsonl", rows)), resamples=10)["region"]
    assert found["tied"] == 0 and found["judges"]["geometric"]["items"] == 4


def test_the_command_prints_tables_or_json(tmp_path, capsys):
    path = write(tmp_path / "labels.jsonl", ROWS)
    assert main([str(path), "--resamples", "20"]) == 0
    assert "| geometric | 3 |" in capsys.readouterr().out
    assert main([str(path), "--resamples", "20", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["region"]["items"] == 5


def test_a_judges_name_cannot_break_the_table():
    found = {"fact": {"items": 1, "tied": 0, "people_alpha": None, "tau_b": {}, "differences": []}}
    found["fact"]["judges"] = {"a|b\nc": {"items": 1, "accuracy": 1.0, "unjudged": 0}}
    assert "| a\\|b c | 1 | 1.000 |" in as_markdown(found, 10)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"id": "a", "human": "covered"}, "stage"),
        ({"id": "a", "stage": "page", "human": "covered"}, "expected one of region"),
        ({"id": "a", "stage": "region", "human": "good"}, "expected one of not_covered"),
        ({"id": "a", "stage": "region", "human": "covered", "scores": {"iou": "x"}}, "line 1"),
        ({"id": "a", "stage": "region", "human": "covered", "scores": {"iou": float("nan")}}, "no number"),
        ([], "line 1"),
    ],
)
def test_a_line_that_is_not_as_described_is_named(tmp_path, row, why):
    with pytest.raises(InputError, match=why):
        read_items(write(tmp_path / "labels.jsonl", [row]))


def test_a_file_that_is_not_there_or_empty_or_names_an_item_twice_is_refused(tmp_path):
    for path in (tmp_path / "none.jsonl", write(tmp_path / "empty.jsonl", [])):
        with pytest.raises(InputError):
            read_items(path)
    with pytest.raises(InputError, match="already"):
        read_items(write(tmp_path / "twice.jsonl", [ROWS[0], ROWS[0]]))
