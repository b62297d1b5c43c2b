"""`summary.json` of a run: every figure, what decided on it, and which questions it does not cover."""

import json
from pathlib import Path
from typing import Any

from eval.comparing import Measured, tables_of
from eval.identity import now
from eval.runs import SUMMARY
from eval.tables import records
from indexes.cache import write_atomic


def summary(measured: Measured) -> dict[str, Any]:
    """The summary as JSON values."""
    run = measured.run
    return {
        "format": 1,
        "benchmark": run.benchmark,
        "scored": now(),
        "scorers": dict(run.names),
        "counts": {
            "in_the_data": run.known,
            "asked": len(run.scored),
            **{state: run.count(state) for state in ("ok", "failed", "missing", "unparsable")},
            "abstained": sum(one.outcome.abstained for one in run.scored),
            "unscoreable": sum(one.unscoreable for one in run.scored),
            "unscored": len(run.unscored),
            "unread_trajectories": sum(one.unread for one in run.scored),
            "strange_rows": len(run.strange),
            "repeated_rows": len(run.repeated),
            "broken_lines": run.broken,
        },
        "unscored": run.unscored,
        "judge": run.judge,
        "judge_failures": list(run.failures),
        "figures": records(tables_of([measured])),
    }


def write_summary(measured: Measured, folder: Path) -> None:
    """Writes the summary into the run's folder.

    Raises:
        InputError: it cannot be written.
    """
    text = json.dumps(summary(measured), indent=1, ensure_ascii=False) + "\n"
    write_atomic(folder / SUMMARY, text.encode("utf-8", "backslashreplace"))
