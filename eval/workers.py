"""The runner's worker processes: who asks what, what is done where one dies, and what comes of a question."""

import contextlib
import os
import selectors
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import IO, Any, Literal

from eval.benchmarks.types import Question
from eval.job import OPEN_SECONDS, WORKER
from eval.schedule import Documents, Schedule
from indexes.errors import InputError
from indexes.workers import end_process, how_died, receive, send

TRIES = 2
"""Workers that may die at a question, or at opening its documents, before it counts as failed."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What came of a question: its row, or why there is none.

    Attributes:
        line: the row as JSON in UTF-8; empty where the question could not be asked.
        failed: whether it has no answer.
        reason: why it could not be asked.
    """

    question: Question
    line: bytes
    failed: bool
    reason: str = ""


class _Worker:
    """One process, the documents that it has open and the question that it is at."""

    def __init__(self, command: Sequence[str], log: IO[str], threads: int) -> None:
        root = str(Path(__file__).resolve().parents[1])
        paths = [root, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        shared = {name: os.environ.get(name, str(threads)) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env={**os.environ, **shared, "PYTHONPATH": os.pathsep.join(paths)},
            start_new_session=True,  # a Ctrl-C in the terminal is ours to handle
        )
        if self.process.stdin is None or self.process.stdout is None:
            raise OSError("no pipes to the worker process")
        self.tasks: IO[bytes] = self.process.stdin
        self.replies: IO[bytes] = self.process.stdout
        self.state: Literal["starting", "idle", "opening", "asking"] = "idle"
        self.held: Documents | None = None
        self.question: Question | None = None
        self.since = 0.0

    def give(self, state: Literal["starting", "opening", "asking"], task: dict[str, Any]) -> None:
        self.state, self.since = state, time.monotonic()
        with contextlib.suppress(BrokenPipeError):  # a worker that died shows when its reply is read
            send(self.tasks, task)

    def end(self) -> None:
        end_process(self.process)

    @property
    def names(self) -> str:
        return ", ".join(path.name for path in self.held or ())

    def death(self) -> str:
        return f"the worker process died ({how_died(self.process.returncode)})"


class Crew:
    """A few workers that ask the questions of a schedule and outlive crashes.

    Args:
        size: workers at most.
        setting: `config` and `name`, what a worker is told first.
        log: takes lines on what happens.
        errors: takes what the workers and their libraries print.
        limit: seconds after which the worker of a question is killed.
        open_limit: seconds a document after which a worker that opens (reads, indexes) it is killed.
        worker: the module that a worker runs, and its arguments.
    """

    def __init__(
        self,
        size: int,
        setting: Mapping[str, Any],
        log: Callable[[str], None],
        errors: IO[str],
        *,
        limit: float = 3600.0,
        open_limit: float = OPEN_SECONDS,
        worker: Sequence[str] = WORKER,
    ) -> None:
        self.size, self.setting = max(1, size), dict(setting)
        self.limit, self.open_limit = limit, open_limit
        self.command = (sys.executable, "-m", *worker)
        self._log, self._errors = log, errors
        self._workers: list[_Worker] = []
        self._deaths: Counter[str | Documents] = Counter()
        self._schedule = Schedule([])

    def run(self, questions: Sequence[Question]) -> Generator[Answered, None, None]:
        """Asks questions and yields what comes of each, in the order in which it comes.

        Raises:
            InputError: a worker cannot start, for a reason that the user can put right.
        """
        self._schedule = Schedule(questions)
        try:
            while len(self._schedule) or self._busy():
                self._hand_out()
                yield from self._collect()
        finally:
            workers, self._workers = self._workers, []
            for worker in workers:
                worker.end()

    def _busy(self) -> list[_Worker]:
        return [worker for worker in self._workers if worker.state != "idle"]

    def _at_work(self) -> int:
        """Workers that have taken a question."""
        return sum(worker.question is not None for worker in self._workers)

    def _hand_out(self) -> None:
        for worker in self._workers:
            if worker.state == "idle":
                self._next(worker)
        while len(self._workers) < min(self.size, self._at_work() + len(self._schedule)):
            threads = max(1, (os.cpu_count() or 1) // self.size)
            worker = _Worker(self.command, self._errors, threads)
            self._workers.append(worker)
            worker.give("starting", self.setting)

    def _next(self, worker: _Worker) -> None:
        """Gives an idle worker its next question, if one waits for it."""
        question = self._schedule.take(worker.held)
        worker.question = question
        if question is None:
            return
        if question.documents == worker.held:
            worker.give("asking", {"ask": question.question, "id": question.id})
            return
        self._let_go(worker)
        worker.held = question.documents
        self._schedule.hold(worker.held)
        worker.give("opening", {"open": [str(path) for path in worker.held]})

    def _let_go(self, worker: _Worker) -> None:
        if worker.held is not None:
            self._schedule.release(worker.held)
            worker.held = None

    def _collect(self) -> list[Answered]:
        """Waits until a worker says something, ends or has taken too long."""
        answered: list[Answered] = []
        with selectors.DefaultSelector() as selector:
            for worker in self._busy():
                selector.register(worker.replies, selectors.EVENT_READ, worker)
            ends = [worker.since + self._seconds(worker) for worker in self._busy()]
            wait = max(0.0, min(ends) - time.monotonic()) if min(ends, default=inf) < inf else None
            events = selector.select(wait) if self._busy() else []
        for key, _ in events:
            answered += self._reply(key.data)
        for worker in self._busy():
            seconds = self._seconds(worker)
            if time.monotonic() - worker.since > seconds:
                what = f"{worker.names} not open" if worker.state == "opening" else "gave up"
                answered += self._lost(worker, f"{what} after {seconds:.0f} seconds", tries=1)
        return answered

    def _seconds(self, worker: _Worker) -> float:
        """How long a worker may be at what it does; loading models has no limit."""
        if worker.state == "opening":
            return self.open_limit * len(worker.held or ())
        return self.limit if worker.state == "asking" else inf

    def _reply(self, worker: _Worker) -> list[Answered]:
        try:
            value, data = receive(worker.replies)
        except (EOFError, OSError, ValueError):
            worker.end()
            return self._lost(worker, worker.death(), TRIES)
        state, worker.state = worker.state, "idle"
        if state == "starting":
            if "input_error" in value or "error" in value:
                raise InputError(value.get("input_error") or f"the worker cannot start: {value['error']}")
            return []
        if state == "opening":
            return self._opened(worker, value)
        question, worker.question = worker.question, None
        if question is None:
            raise RuntimeError("a reply to no question")
        if "error" in value:
            return [_unasked(question, value["error"])]
        return [Answered(question, data, bool(value["failed"]))]

    def _opened(self, worker: _Worker, value: Mapping[str, Any]) -> list[Answered]:
        question, documents = worker.question, worker.held
        if question is None or documents is None:
            raise RuntimeError("documents were opened for no question")
        names = worker.names
        self._schedule.give_back(question)
        if "error" not in value:
            self._log(f"opened {names} in {value['seconds']} seconds")
            return []
        self._let_go(worker)
        self._log(f"cannot open {names}: {value['error']}")
        return [_unasked(q, str(value["error"])) for q in self._schedule.give_up(documents)]

    def _lost(self, worker: _Worker, why: str, tries: int) -> list[Answered]:
        """What becomes of the question of a worker that is gone: another try, or it failed."""
        worker.end()
        self._workers.remove(worker)
        question, documents, state = worker.question, worker.held, worker.state
        self._let_go(worker)
        self._log(f"{why} ({state}{f' {question.id}' if question else ''})")
        key: str | Documents = "start"
        if question is not None and documents is not None:
            key = documents if state == "opening" else question.id
        self._deaths[key] += 1
        final = self._deaths[key] >= tries
        if question is None or documents is None:
            if final:
                raise InputError(
                    f"{why} at its start {tries} times; its last words are in the log.txt of the run"
                )
            return []
        if not final or state == "opening":
            self._schedule.give_back(question)
        if not final:
            return []
        lost = self._schedule.give_up(documents) if state == "opening" else [question]
        return [_unasked(q, why) for q in lost]


def _unasked(question: Question, reason: str) -> Answered:
    return Answered(question, b"", True, reason)
