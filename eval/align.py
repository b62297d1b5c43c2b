"""`python -m eval.align LABELS`: how well judges and geometric scores agree with people.

LABELS is a JSON lines file, a line an item that people have labelled:

    {"id": "q1/e1", "stage": "region", "human": ["covered", "covered", "imprecise"],
     "judges": {"geometric": "covered", "model": "imprecise"}, "scores": {"iou": 0.61, "iom": 0.98}}

`stage` is `region` (labels not_covered, imprecise, covered), `fact` (inconsistent, consistent) or `answer`
(wrong, correct). `human` is a label, or a list of the raters' labels in a fixed order (null where a rater did
not see the item); what people say is the label most of them gave, and an item on which they are tied is left
out and counted, unless `adjudicated` gives the label they agreed on. `judges` and `scores` may be missing. A
judge that did not judge an item (null) leaves it out of that judge's table, which says so.

The measures are those of DocScope's appendix D: accuracy, Cohen's kappa, macro-F1, MCC, Krippendorff's alpha,
and Kendall's tau-b of the scores with people's labels by a paired bootstrap over items.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from eval.analyses.agreement import RESAMPLES, Agreement, agreement, alpha, correlations
from indexes.errors import CommandParser, InputError, one_line, run_command

LABELS: dict[str, tuple[str, ...]] = {
    "region": ("not_covered", "imprecise", "covered"),
    "fact": ("inconsistent", "consistent"),
    "answer": ("wrong", "correct"),
}
"""The labels of each stage, in ascending order."""

MOST = 100_000  # resamples
EXAMPLES = """\
examples:
  python -m eval.align labels.jsonl
      a table a stage: each judge against people, each score's tau-b with its interval
  python -m eval.align labels.jsonl --format json > alignment.json
needs the extra `analysis`: pip install pagetrail[analysis]
"""


@dataclass(frozen=True, slots=True)
class Item:
    """A labelled item: what each person said, what people say together (None where tied), judges, scores."""

    id: str
    stage: str
    raters: tuple[str | None, ...]
    human: str | None
    judges: Mapping[str, str | None]
    scores: Mapping[str, float]


def read_items(path: Path) -> list[Item]:
    """The items of a labels file.

    Raises:
        InputError: it cannot be read, or a line is not as the module describes it.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")  # splitlines() also divides at U+2028
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot be read ({why})") from error
    items: dict[tuple[str, str], Item] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            item = _item(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            why = f"no {error}" if isinstance(error, KeyError) else error
            raise InputError(f"{path}: line {number}: {why}; python -m eval.align --help says how") from error
        if (item.stage, item.id) in items:
            raise InputError(f"{path}: line {number}: {item.stage} {item.id!r} stands there already")
        items[item.stage, item.id] = item
    if not items:
        raise InputError(f"{path}: no items there; write one JSON object a line")
    return list(items.values())


def _item(row: Mapping[str, Any]) -> Item:
    stage = row["stage"]
    if stage not in LABELS:
        raise ValueError(f"stage {stage!r}: expected one of {', '.join(LABELS)}")
    given = row["human"]
    raters = tuple(_label(label, stage) for label in (given if isinstance(given, list) else [given]))
    judges = {str(name): _label(label, stage) for name, label in (row.get("judges") or {}).items()}
    scores = {str(name): float(value) for name, value in (row.get("scores") or {}).items()}
    if any(score != score for score in scores.values()):
        raise ValueError("a score is no number")
    human = _label(row.get("adjudicated"), stage) or _majority([label for label in raters if label])
    return Item(str(row["id"]), stage, raters, human, judges, scores)


def _label(label: object, stage: str) -> str | None:
    if label is None:
        return None
    if not isinstance(label, str) or label not in LABELS[stage]:
        raise ValueError(f"label {label!r} of stage {stage}: expected one of {', '.join(LABELS[stage])}")
    return label


def _majority(labels: Sequence[str]) -> str | None:
    """The label given most often; None where two are, or nobody gave any."""
    ranked = Counter(labels).most_common(2)
    if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]


def align(items: Sequence[Item], *, resamples: int = RESAMPLES, seed: int = 0) -> dict[str, Any]:
    """The measures of every stage as JSON values.

    Returns:
        Stage to `items`, `tied` (left out), `people_alpha` (None with one rater), `judges` (name to the
        fields of `Agreement` and `unjudged`), `tau_b` (score to value, interval, items) and `differences`.
    """
    made = {}
    for stage, labels in LABELS.items():
        own = [item for item in items if item.stage == stage]
        if own:
            settled = [item for item in own if item.human is not None]
            made[stage] = {
                "items": len(own),
                "tied": len(own) - len(settled),
                "people_alpha": _people(own, labels),
                "judges": _judges(settled, labels),
                **_scores(settled, labels, resamples, seed),
            }
    return made


def _people(items: Sequence[Item], labels: Sequence[str]) -> float | None:
    most = max(len(item.raters) for item in items)
    if most < 2:
        return None
    padded = [[*item.raters, *([None] * (most - len(item.raters)))] for item in items]
    columns = [[row[rater] for row in padded] for rater in range(most)]
    return alpha(columns, labels, ordered=len(labels) > 2)


def _judges(items: Sequence[Item], labels: Sequence[str]) -> dict[str, Any]:
    made = {}
    for name in dict.fromkeys(name for item in items for name in item.judges):
        pairs = [(item.human, label) for item in items if (label := item.judges.get(name)) and item.human]
        measured: Mapping[str, Any] = {}
        if pairs:
            human, judged = zip(*pairs, strict=True)
            measured = asdict(agreement(human, judged, labels, ordered=len(labels) > 2))
        made[name] = {**measured, "unjudged": len(items) - len(pairs)}
    return made


def _scores(items: Sequence[Item], labels: Sequence[str], resamples: int, seed: int) -> dict[str, Any]:
    names = list(dict.fromkeys(name for item in items for name in item.scores))
    whole = [item for item in items if item.human and all(name in item.scores for name in names)]
    if not names or not whole:
        return {"tau_b": {}, "differences": [], "unscored": len(items) - len(whole) if names else 0}
    rank = {label: float(place) for place, label in enumerate(labels)}
    wanted = [rank[item.human] for item in whole if item.human]
    columns = {name: [item.scores[name] for item in whole] for name in names}
    single, pairs = correlations(columns, wanted, resamples=resamples, seed=seed)
    return {
        "tau_b": {name: asdict(value) for name, value in single.items()},
        "differences": [{"first": a, "second": b, **asdict(value)} for (a, b), value in pairs.items()],
        "unscored": len(items) - len(whole),
    }


def as_markdown(found: Mapping[str, Any], resamples: int) -> str:
    """The measures as tables."""
    lines: list[str] = []
    for stage, values in found.items():
        people = values["people_alpha"]
        among = "" if people is None else f"; people among themselves: alpha {_number(people)}"
        tied = f"{values['tied']} left out because people are tied"
        lines += [f"## {stage}", "", f"{values['items']} items, {tied}{among}"]
        names = [name for name in Agreement.__dataclass_fields__ if name != "items"]
        rows = [
            [judge, str(row.get("items", 0)), *(_number(row.get(n)) for n in names), str(row["unjudged"])]
            for judge, row in values["judges"].items()
        ]
        lines += _table(["judge", "n", *names, "unjudged"], rows)
        rows = [
            [score, str(row["items"]), _number(row["value"]), _span(row)]
            for score, row in values["tau_b"].items()
        ]
        lines += _table(["score", "n", "tau-b", f"95 % ({resamples} resamples)"], rows)
        rows = [
            [f"{row['first']} - {row['second']}", _number(row["value"]), _span(row), _number(row["p"])]
            for row in values["differences"]
        ]
        lines += _table(["difference of tau-b", "value", "95 %", "p"], rows) + [""]
    return "\n".join(lines)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table after an empty line; nothing without rows."""
    if not rows:
        return []
    rule = "|---|" + "---:|" * (len(head) - 1)
    return ["", _line(head), rule, *map(_line, rows)]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(one_line(cell).replace("|", "\\|") for cell in cells) + " |"


def _span(row: Mapping[str, Any]) -> str:
    return f"{_number(row['low'])} to {_number(row['high'])}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = CommandParser(
        "python -m eval.align", "Compares judges and geometric scores with people's labels.", EXAMPLES
    )
    made.add_argument("labels", type=Path, metavar="LABELS", help="a JSON lines file; see docs/analyses.md")
    made.add_argument("--format", choices=("md", "json"), default="md")
    made.add_argument("--resamples", type=int, default=RESAMPLES, metavar="N", help="of the bootstrap")
    made.add_argument("--seed", type=int, default=0, help="of the bootstrap")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    options = parser().parse_args(argv)
    if options.resamples < 1:
        raise InputError(f"--resamples {options.resamples}: expected at least 1")
    if options.resamples > MOST:
        raise InputError(f"--resamples {options.resamples}: expected at most {MOST}")
    if options.seed < 0:
        raise InputError(f"--seed {options.seed}: expected 0 or more")
    items = read_items(options.labels)
    try:
        found = align(items, resamples=options.resamples, seed=options.seed)
    except ModuleNotFoundError as error:
        raise InputError(f"{error.name} is not installed; pip install 'pagetrail[analysis]'") from error
    text = json.dumps(found, indent=2) if options.format == "json" else as_markdown(found, options.resamples)
    sys.stdout.write(text + "\n")
    return 0


if __name__ == "__main__":
    run_command(main)
