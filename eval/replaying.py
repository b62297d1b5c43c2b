"""The worker that answers a finished run's questions again at a smaller budget of rounds.

`python -m eval.replaying RUN` speaks the runner's language (`eval.worker`): its config is the run's with
fewer rounds, its documents need no opening, and every answer comes from the state that the run had then.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agent.answer import checked_question
from agent.config import Config
from agent.readers import load_reader
from agent.replay import replay
from agent.trajectory import Trajectory
from agent.types import Reader
from eval.rows import Entry, scan_rows
from eval.runs import ROWS
from eval.worker import Asking, Opens, serve


@dataclass(frozen=True, slots=True)
class Replayer:
    """Answers questions from the trajectories in a file of rows."""

    path: Path
    entries: dict[str, Entry]
    rounds: int
    reader: Reader

    def ask(self, question: str, question_id: str = "") -> Trajectory:
        """The run's answer at the smaller budget.

        Raises:
            ValueError: the run has no row of the question, or one that broke off before its first round.
        """
        entry = self.entries.get(question_id)
        if entry is None:
            raise ValueError(f"the run has no row of {question_id!r}")
        with self.path.open("rb") as file:
            file.seek(entry.start)
            run = Trajectory.from_row(json.loads(file.read(entry.size)))
        if run.question != checked_question(question):
            raise ValueError(f"the run's question {question_id!r} is another one")
        return replay(run, self.rounds, self.reader)


class Replays:
    """Opens nothing; loads the reader once."""

    def __init__(self, run: Path) -> None:
        self._path = run / ROWS
        self._entries, _ = scan_rows(self._path)
        self._reader: Reader | None = None

    def ready(self, config: Config) -> None:
        """Loads the reader, without an encoder: no page is read again."""
        self._reader = load_reader(config)

    @contextmanager
    def open(self, paths: Sequence[Path], config: Config) -> Iterator[Asking]:
        """Takes questions on documents, which stay closed."""
        if self._reader is None:
            raise ValueError("no reader was loaded")
        yield Replayer(self._path, self._entries, config.rounds, self._reader)


def make(arguments: Sequence[str]) -> Opens:
    """The replays of the run that is named."""
    return Replays(Path(arguments[0]))


if __name__ == "__main__":
    serve(make(sys.argv[1:]))
