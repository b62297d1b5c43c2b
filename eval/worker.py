"""The runner's worker process: `python -m eval.worker` opens documents and asks questions on stdin's orders.

Every message on stdin gets one reply on stdout (`indexes.workers.send`):

    {"config": {...}, "name": "cpu"}   {} once the models are loaded, or {"input_error": "..."}
    {"open": ["a.pdf"]}                {"seconds": 1.2}, or {"error": "..."} where it cannot be opened
    {"ask": "...", "id": "q1"}         {"failed": false} and the row, or {"error": "..."}
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, Protocol

from agent.config import Config
from indexes.errors import InputError, one_line
from indexes.workers import leave_with_parent, receive, send

Answer = tuple[dict[str, Any], bytes]


class Result(Protocol):
    """What asking leaves: a trajectory."""

    @property
    def failure(self) -> str | None:
        """Why there is no answer."""
        ...

    def line(self) -> str:
        """The row."""
        ...


class Asking(Protocol):
    """What answers questions on the documents that are open."""

    def ask(self, question: str, question_id: str = "") -> Result:
        """Answers a question."""
        ...


Opener = Callable[[Sequence[Path], Config], AbstractContextManager[Asking]]


class Opens(Protocol):
    """What a worker's module makes by `make(arguments)`, here or on a cluster: it opens documents."""

    def ready(self, config: Config) -> None:
        """Loads what all documents share; an `InputError` ends the run."""
        ...

    def open(self, paths: Sequence[Path], config: Config) -> AbstractContextManager[Asking]:
        """Opens documents for questions."""
        ...


class Desk:
    """The documents that the worker has open."""

    def __init__(self, opener: Opener) -> None:
        self._opener = opener
        self._config: Config | None = None
        self._stack = ExitStack()
        self._asker: Asking | None = None

    def reply(self, task: dict[str, Any]) -> Answer:
        """Does what a message asks for."""
        if "config" in task:
            self._config = Config(**task["config"], name=task["name"])
            return {}, b""
        if "open" in task:
            return self._open([Path(path) for path in task["open"]]), b""
        return self._ask(task["ask"], task["id"])

    def answer(self, task: dict[str, Any]) -> Answer:
        """Does what a message asks for; what goes wrong is the answer's `error`, on one line."""
        try:
            return self.reply(task)
        except InputError as error:
            return {"error": one_line(str(error))}, b""
        except Exception as error:
            return {"error": f"{type(error).__name__}: {one_line(str(error))[:300]}"}, b""

    def _open(self, paths: list[Path]) -> dict[str, Any]:
        if self._config is None:
            raise ValueError("no config was given")
        self._asker = None
        self._stack.close()
        start = time.perf_counter()
        self._asker = self._stack.enter_context(self._opener(paths, self._config))
        return {"seconds": round(time.perf_counter() - start, 3)}

    def _ask(self, question: str, question_id: str) -> Answer:
        if self._asker is None:
            raise ValueError("no document is open")
        result = self._asker.ask(question, question_id)
        return {"failed": result.failure is not None}, result.line().encode()


def serve(opens: Opens) -> None:
    """Runs messages until stdin closes or the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C in the terminal is the parent's to handle
    threading.Thread(target=leave_with_parent, args=(os.getppid(),), daemon=True).start()
    tasks, replies = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever libraries print must not get between the replies
    desk = Desk(opens.open)
    while True:
        try:
            task, _ = receive(tasks)
        except EOFError:
            return
        value, data = _answered(desk, task, opens)
        try:
            send(replies, value, data)
        except BrokenPipeError:
            os._exit(1)


def _answered(desk: Desk, task: dict[str, Any], opens: Opens) -> Answer:
    if "config" in task:
        try:
            opens.ready(Config(**task["config"], name=task["name"]))
        except InputError as error:
            return {"input_error": one_line(str(error))}, b""
        except Exception as error:
            return {"error": f"{type(error).__name__}: {one_line(str(error))[:300]}"}, b""
    return desk.answer(task)


class Agent:
    """Opens documents with the agent; its models are loaded once."""

    def __init__(self) -> None:
        self._models: Any = None

    def ready(self, config: Config) -> None:
        """Loads the models, before the first document."""
        from agent.answer import load_models

        self._models = load_models(config)

    def open(self, paths: Sequence[Path], config: Config) -> AbstractContextManager[Asking]:
        """Opens documents for questions."""
        from agent.answer import open_asker

        return open_asker(paths, config, models=self._models)


def make(arguments: Sequence[str] = ()) -> Opens:
    """The agent; there is nothing to tell it."""
    return Agent()


if __name__ == "__main__":
    serve(make(sys.argv[1:]))
