"""Worker processes for what must not run in ours: PyMuPDF (not thread-safe, may crash), layout, OCR.

A worker is `python -m indexes.worker` on two pipes, not a `multiprocessing` process: it never imports the
caller's main script, so the library works from a script without a `__main__` guard.
"""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

from indexes.errors import InputError

Status = Literal["done", "failed", "crashed"]
TIMEOUT = 300.0  # seconds that a task may take
STUCK = 310.0  # CPU seconds in which no other thread runs; then a process ends, with nobody left to end it


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a task: `done` with `value` and `data`, `failed` (an exception) or `crashed`.

    Attributes:
        task: the task as it was given.
        message: of a failure or crash, what happened.
    """

    task: dict[str, Any]
    status: Status
    value: dict[str, Any] = field(default_factory=dict)
    data: bytes = b""
    message: str = ""


def send(stream: IO[bytes], value: dict[str, Any], data: bytes = b"") -> None:
    """Writes one message: two lengths, JSON, bytes."""
    head = json.dumps(value).encode()
    stream.write(len(head).to_bytes(4, "little") + len(data).to_bytes(8, "little") + head + data)
    stream.flush()


def receive(stream: IO[bytes]) -> tuple[dict[str, Any], bytes]:
    """Reads one message; EOFError where the other side is gone."""
    sizes = _exactly(stream, 12)
    head = _exactly(stream, int.from_bytes(sizes[:4], "little"))
    data = _exactly(stream, int.from_bytes(sizes[4:], "little"))
    value: dict[str, Any] = json.loads(head)
    return value, data


def _exactly(stream: IO[bytes], size: int) -> bytes:
    parts = []
    while size:
        part = stream.read(size)
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def leave_with_parent(parent: int) -> None:
    """Ends the process when its parent is gone, also in the middle of a task; runs in a thread of its own.

    Where a library lets no thread run, as MuPDF may on a hostile page, the kernel ends it after `STUCK`.
    """
    while os.getppid() == parent:
        signal.setitimer(signal.ITIMER_PROF, STUCK)
        time.sleep(1.0)
    os._exit(1)


class _Worker:
    """One process and the task it is at."""

    def __init__(self, module: str, *preload: str) -> None:
        package_root = str(Path(__file__).resolve().parents[1])
        paths = [package_root, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, *preload],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            start_new_session=True,  # a Ctrl-C in the terminal is ours to handle
        )
        if self.process.stdin is None or self.process.stdout is None:
            raise OSError("no pipes to the worker process")
        self.tasks: IO[bytes] = self.process.stdin
        self.replies: IO[bytes] = self.process.stdout
        self.task: dict[str, Any] | None = None
        self.since = 0.0

    def give(self, task: dict[str, Any]) -> None:
        self.task, self.since = task, time.monotonic()
        # a worker that died meanwhile shows when its reply is read
        with contextlib.suppress(BrokenPipeError):
            send(self.tasks, task)

    def take(self) -> Reply:
        """Reads the reply to the task it was given."""
        task, self.task = self.task or {}, None
        try:
            value, data = receive(self.replies)
        except (EOFError, OSError, ValueError):
            self.end()
            return Reply(
                task, "crashed", message=f"the worker process died ({how_died(self.process.returncode)})"
            )
        if "input_error" in value:
            raise InputError(value["input_error"])
        if "error" in value:
            return Reply(task, "failed", message=str(value["error"]))
        return Reply(task, "done", value, data)

    def end(self) -> None:
        """Ends the process at once."""
        end_process(self.process)


def end_process(process: "subprocess.Popen[bytes]") -> None:
    """Ends a worker at once: what it keeps on disk, it writes whole or not at all."""
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
    if process.poll() is None:
        process.kill()
    process.wait()
    if process.stdout is not None:
        with contextlib.suppress(OSError):
            process.stdout.close()


def how_died(code: int | None) -> str:
    """What a worker's exit code says: `signal 9`, `exit code 1`."""
    return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"


class WorkerPool:
    """A few workers, started when first needed, that run tasks and outlive crashes.

    Args:
        size: workers at most.
        timeout: seconds after which a task's worker is killed and the task counts as crashed.
        module: what a worker runs.
    """

    def __init__(self, size: int = 2, timeout: float = TIMEOUT, module: str = "indexes.worker") -> None:
        self.size = max(1, size)
        self.timeout, self.module = timeout, module
        self._workers: list[_Worker] = []

    def run(self, tasks: Iterable[dict[str, Any]]) -> Iterator[Reply]:
        """Runs tasks and yields their replies as they come, in no order.

        Raises:
            InputError: a task met something the user can put right; the other tasks are given up.
        """
        waiting = deque(tasks)
        try:
            while waiting or self._busy():
                self._hand_out(waiting)
                yield from self._collect()
        except BaseException:
            self._end_busy()
            raise

    def prepare(self, what: str) -> None:
        """Starts a worker, if there is none yet, that loads what coming tasks need while other work is done.

        Args:
            what: an argument of the worker's module, such as `layout`.
        """
        if not self._workers:
            self._workers.append(_Worker(self.module, what))

    def call(self, task: dict[str, Any]) -> Reply:
        """Runs one task."""
        (reply,) = self.run([task])
        return reply

    def close(self) -> None:
        """Ends all workers."""
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.end()

    def _busy(self) -> list[_Worker]:
        return [worker for worker in self._workers if worker.task is not None]

    def _hand_out(self, waiting: deque[dict[str, Any]]) -> None:
        for worker in [w for w in self._workers if w.task is None and w.process.poll() is not None]:
            self._drop(worker)
        while waiting:
            idle = next((worker for worker in self._workers if worker.task is None), None)
            if idle is None:
                if len(self._workers) >= self.size:
                    return
                idle = _Worker(self.module)
                self._workers.append(idle)
            idle.give(waiting.popleft())

    def _collect(self) -> list[Reply]:
        """Waits until a busy worker says something, ends or has taken too long."""
        busy = self._busy()
        with selectors.DefaultSelector() as selector:
            for worker in busy:
                selector.register(worker.replies, selectors.EVENT_READ, worker)
            oldest = min(worker.since for worker in busy)
            events = selector.select(max(0.0, oldest + self.timeout - time.monotonic()))
        replies = [key.data.take() for key, _ in events]
        for worker in [w for w in self._workers if w.process.returncode is not None]:
            self._drop(worker)
        for worker in self._busy():
            if time.monotonic() - worker.since > self.timeout and worker.task is not None:
                message = f"gave up after {self.timeout:.0f} seconds"
                replies.append(Reply(worker.task, "crashed", message=message))
                self._drop(worker)
        return replies

    def _end_busy(self) -> None:
        for worker in self._busy():
            self._drop(worker)

    def _drop(self, worker: _Worker) -> None:
        worker.end()
        if worker in self._workers:
            self._workers.remove(worker)
