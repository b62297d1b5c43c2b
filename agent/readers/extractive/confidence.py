"""How sure an answer is: a logistic model over few features, fitted by `benchmarks/calibration.py`."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from agent.readers.extractive.attempts import Attempt
from agent.readers.extractive.matching import covered
from agent.readers.extractive.question import Analysis
from agent.readers.extractive.text import content
from agent.types import Fact

_MEMBERS = {
    "computed": ("formula", "line item", "change", "dated combined"),
    "cell": ("cell", "dated cell", "labelled", "table cell", "cells by number", "year of row"),
    "typed": (
        "typed date",
        "typed time",
        "typed year",
        "typed phone",
        "typed e-mail",
        "typed address",
        "typed number",
        "name",
        "place",
    ),
    "stated": ("stated count", "stated number", "count word", "count numbered"),
    "choice": ("comparison", "mentioned option", "yes", "no"),
}
FAMILIES: Mapping[str, str] = {kind: family for family, kinds in _MEMBERS.items() for kind in kinds}
"""The family of each way to an answer; ways that fit the question loosely have none."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What the calibration found: the features' weights, and the confidence from which on to answer."""

    threshold: float
    weights: Mapping[str, float]


@cache
def calibration() -> Calibration:
    """The calibration that comes with the package."""
    raw = json.loads(resources.files(__package__).joinpath("calibration.json").read_text(encoding="utf-8"))
    return Calibration(float(raw["threshold"]), {str(k): float(v) for k, v in raw["weights"].items()})


def features(analysis: Analysis, attempt: Attempt, facts: Sequence[Fact]) -> dict[str, float]:
    """The features of an answer, each between 0 and 1.

    `coverage`: share of the question's content words in the facts it rests on; `known`: in all facts;
    `absent name`: share of the question's names that no fact holds; `absent year`: the same for years;
    `score`: the reader's score of the first fact; `margin`: by how much it leads the next of another page;
    `visual`: the question asks what only a picture shows; `kind ...`: how the answer was found, and
    `family ...`: that way together with those like it, so that rare ways share what was learnt.
    """
    own = " ".join(f"{f.text} {f.quote}" for f in attempt.facts)
    everything = " ".join(f"{f.text} {f.quote}" for f in facts)
    names = [float(covered(content(n) or [n.lower()], everything) > 0.7) for n in analysis.names]
    found_years = [float(str(y) in everything) for y in analysis.years]
    top = attempt.facts[0] if attempt.facts else None
    rivals = [
        f.score
        for f in facts
        if top and f.part == top.part and f.regions and top.regions and f.regions[0].ref != top.regions[0].ref
    ]
    margin = (top.score - max(rivals, default=0.0)) if top else 0.0
    return {
        "bias": 1.0,
        "coverage": covered(analysis.content, own),
        "known": covered(analysis.content, everything),
        "absent name": 1 - sum(names) / len(names) if names else 0.0,
        "absent year": 1 - sum(found_years) / len(found_years) if found_years else 0.0,
        "score": top.score if top else 0.0,
        "margin": max(0.0, min(1.0, margin)),
        "visual": float(analysis.visual),
        f"kind {attempt.kind}": 1.0,
        f"family {FAMILIES.get(attempt.kind, 'loose')}": 1.0,
    }


def confidence(analysis: Analysis, attempt: Attempt, facts: Sequence[Fact]) -> float:
    """The estimated probability that the answer is right, 0 to 1."""
    weights = calibration().weights
    total = sum(weights.get(name, 0.0) * value for name, value in features(analysis, attempt, facts).items())
    return 1 / (1 + math.exp(-total))
