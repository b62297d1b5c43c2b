"""What would come of abstaining more: coverage, selective accuracy and risk as a threshold moves.

A run answers some questions, each with a confidence, and abstains from others. At a threshold t it gives
only the answers of at least that confidence. Coverage is the share of all scored questions that are answered;
selective accuracy is the mean score of those; risk is 1 minus it; accuracy counts an abstention as right
where the question is unanswerable. (El-Yaniv and Wiener 2010; area as in Geifman and El-Yaniv 2017.)
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from eval.analyses.types import Outcome


@dataclass(frozen=True, slots=True)
class Threshold:
    """A run whose answers below a confidence are withheld.

    Attributes:
        threshold: the least confidence of an answer that is given.
        answered: how many are.
        coverage: `answered` / all scored questions.
        selective_accuracy: mean score of the answers given; an answer to an unanswerable question scores 0.
        accuracy: mean score of all, with every abstention from an unanswerable question right.
    """

    threshold: float
    answered: int
    coverage: float
    selective_accuracy: float
    accuracy: float

    @property
    def risk(self) -> float:
        """What the answers given lack to being right."""
        return 1.0 - self.selective_accuracy


def _points(outcomes: Iterable[Outcome]) -> tuple[list[tuple[float, float, bool]], int, int]:
    """Answers as (confidence, score, answerable), all scored questions, the right abstentions."""
    answers, total, spared = [], 0, 0
    for outcome in outcomes:
        if outcome.score is None:
            continue
        total += 1
        if outcome.abstained or outcome.failed:
            spared += outcome.abstained and not outcome.answerable
        elif outcome.confidence is not None:
            score = outcome.score if outcome.answerable else 0.0
            answers.append((outcome.confidence, score, outcome.answerable))
        else:
            total -= 1  # an answer without a confidence can be placed nowhere
    return answers, total, spared


def unplaced(outcomes: Iterable[Outcome]) -> int:
    """Scored answers without a confidence, which no threshold can place: they are in no curve."""
    return sum(
        o.score is not None and not o.abstained and not o.failed and o.confidence is None for o in outcomes
    )


def curve(outcomes: Iterable[Outcome]) -> list[Threshold]:
    """The run at every threshold at which something changes, the strictest first."""
    answers, total, spared = _points(outcomes)
    without = sum(not answerable for _, _, answerable in answers)
    made = []
    answered, right, given = 0, 0.0, 0
    ranked = sorted(answers, key=lambda answer: -answer[0])
    for threshold, group in groupby(ranked, key=lambda answer: answer[0]):
        for _, score, answerable in group:
            answered, right, given = answered + 1, right + score, given + (not answerable)
        accuracy = (right + spared + without - given) / total
        made.append(Threshold(threshold, answered, answered / total, right / answered, accuracy))
    return made


def risk_coverage_area(points: Sequence[Threshold]) -> float | None:
    """The mean risk over the coverages from 0 to the run's own (0 is best); None without any answer.

    Within a group of equal confidences the answers come in any order: the risk is the mean over all of them,
    so that the area does not depend on how ties are broken.
    """
    if not points:
        return None
    risks = 0.0
    answered, wrong = 0, 0.0
    for point in points:
        size = point.answered - answered
        share = (point.answered * point.risk - wrong) / size
        risks += sum((wrong + i * share) / (answered + i) for i in range(1, size + 1))
        answered, wrong = point.answered, point.answered * point.risk
    return risks / answered


def best_area(points: Sequence[Threshold], scores: Sequence[float]) -> float | None:
    """The area that confidences could reach at best: the answers given, in the order of their scores."""
    if not points:
        return None
    ranked = sorted(1.0 - score for score in scores)
    total, wrong = 0.0, 0.0
    for place, lost in enumerate(ranked, 1):
        wrong += lost
        total += wrong / place
    return total / len(ranked) if ranked else None


def answered_scores(outcomes: Iterable[Outcome]) -> list[float]:
    """The scores of the answers that a curve places; those to unanswerable questions are 0."""
    return [score for _, score, _ in _points(outcomes)[0]]
