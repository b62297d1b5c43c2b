"""The runner's progress bar."""

import json

from eval.exports import from_row
from eval.rules import Rules
from eval.runs import RunFolder
from eval.workers import Answered
from indexes.progress import bar


class Progress:
    """The bar: done, failed, the mean score by rules of what was asked in this sitting, time left."""

    def __init__(self, benchmark: str, folder: RunFolder, waiting: int, quiet: bool) -> None:
        done = len(folder.entries)
        self._bar = bar(done + waiting, "questions", "question", quiet)
        self._bar.initial = self._bar.n = done
        self._failed = sum(entry.failed for entry in folder.entries.values())
        self._rules = Rules(benchmark)
        self._score, self._scored = 0.0, 0
        self._quiet = quiet

    def __enter__(self) -> "Progress":
        self._bar.refresh()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def add(self, answered: Answered, line: bytes) -> None:
        """Counts a question."""
        self._failed += answered.failed
        if not self._quiet:
            self._score += self._judged(answered, line)
            self._scored += 1
            shown = {"failed": self._failed, "accuracy": f"{100 * self._score / self._scored:.1f}"}
            self._bar.set_postfix(shown, refresh=False)
        self._bar.update()

    def _judged(self, answered: Answered, line: bytes) -> float:
        """The answer's score by rules; 0 where there is none."""
        prediction = from_row(answered.question, json.loads(line))
        if prediction.failure is not None:
            return 0.0
        return self._rules.answer(answered.question, prediction).score or 0.0
