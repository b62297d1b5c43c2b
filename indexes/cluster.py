"""Work on many machines: a pool of Ray workers, which goes on when some of them are lost.

A worker is a Ray actor on one GPU, or on some cores where the cluster has no GPU. It makes its state (such as
an encoder) once, then takes one item after the other. What a worker was at when it died, or when its machine
did, is done again by another: so an item's work must be such that doing it again does no harm, as publishing
by an atomic rename is. The workers import this package: it must be installed on every machine of the cluster.
"""

import contextlib
import logging
import math
import os
import socket
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tqdm import tqdm

from indexes.errors import InputError

CORES = 2  # of a worker without a GPU
TRIES = 3  # how often an item may lose its worker before it is given up
PATIENCE = 600.0  # seconds to wait for a first worker
REACH = 5.0  # seconds for a cluster's address to answer
PASSED_ON = ("PAGETRAIL_CACHE", "HF_HOME", "HF_HUB_OFFLINE")  # environment of workers on other machines
# Results are small records: files go straight to the shared storage.
LOCAL = {"local": {"include_dashboard": False, "object_store_memory": 128 * 1024**2}}

_log = logging.getLogger(__name__)

Status = Literal["done", "failed", "lost"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an item: `done` with its `value`, `failed` or `lost` with a `message`.

    Attributes:
        place: which item it was, by its place in the sequence given.
    """

    place: int
    status: Status
    value: Any = None
    message: str = ""


class Worker:
    """What runs in a worker's process."""

    def __init__(self, environment: dict[str, str]) -> None:
        os.environ.update(environment)
        self.state: Any = None
        self.warnings = _Warnings()
        logging.getLogger().addHandler(self.warnings)

    def start(self, make: Callable[[], Any]) -> tuple[str, str, list[str]]:
        """Makes the state; returns where it runs, what a user has to put right, if anything, and warnings."""
        where = f"process {os.getpid()} on {socket.gethostname()}"
        try:
            self.state = make()
        except InputError as error:
            return where, str(error), self.warnings.take()
        return where, "", self.warnings.take()

    def run(self, function: Callable[[Any, Any], Any], item: Any) -> tuple[Any, str, list[str]]:
        """Works on an item; returns the result, what a user has to put right, if anything, and warnings."""
        try:
            return function(self.state, item), "", self.warnings.take()
        except InputError as error:
            return None, str(error) or "failed", self.warnings.take()


class _Warnings(logging.Handler):
    """Keeps warnings, for the process that gave the work to show."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())

    def take(self) -> list[str]:
        lines, self.lines = self.lines, []
        return lines


class Here:
    """A pool of one worker, this process: the same work without Ray."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._state = make()

    def map(self, function: Callable[[Any, Any], Any], items: Sequence[Any]) -> Iterator[Outcome]:
        """As `Pool.map`, in order."""
        for place, item in enumerate(items):
            try:
                outcome = Outcome(place, "done", function(self._state, item))
            except InputError as error:
                outcome = Outcome(place, "failed", message=str(error))
            yield outcome


@dataclass(slots=True)
class Pool:
    """The workers; see `open_pool`."""

    ray: Any
    size: int
    needs: dict[str, float]
    make: Callable[[], Any]
    quiet: bool
    stillborn: int = 0
    idle: list[Any] = field(default_factory=list)
    busy: dict[Any, tuple[Any, int | None]] = field(default_factory=dict)

    def map(self, function: Callable[[Any, Any], Any], items: Sequence[Any]) -> Iterator[Outcome]:
        """Runs `function(state, item)` for every item and yields what came of them as they finish.

        An item whose worker is lost is given to another, `TRIES` times. A function's `InputError` makes its
        item `failed`; any other exception is raised here.

        Raises:
            InputError: no worker could be started, or none could make its state.
        """
        waiting = deque(range(len(items)))
        lost = [0] * len(items)
        while waiting or any(place is not None for _, place in self.busy.values()):
            self.grow(len(waiting))
            while waiting and self.idle:
                place, worker = waiting.popleft(), self.idle.pop(0)
                self.busy[worker.run.remote(function, items[place])] = (worker, place)
            for task in self._finished():
                outcome = self._taken(task)
                if outcome is None:
                    continue
                if outcome.status == "lost":
                    lost[outcome.place] += 1
                    if lost[outcome.place] < TRIES:
                        waiting.appendleft(outcome.place)
                        continue
                yield outcome

    def close(self) -> None:
        """Ends the workers."""
        for worker in [*self.idle, *(worker for worker, _ in self.busy.values())]:
            with contextlib.suppress(Exception):
                self.ray.kill(worker)
        self.idle, self.busy = [], {}

    def grow(self, waiting: int) -> None:
        """Starts workers until there are as many as are wanted, and of use for so many items."""
        while (
            len(self.idle) + len(self.busy) < self.size and len(self._starting()) + len(self.idle) < waiting
        ):
            environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
            worker = self.ray.remote(**self.needs)(Worker).remote(environment)
            self.busy[worker.start.remote(self.make)] = (worker, None)

    def _starting(self) -> list[Any]:
        return [task for task, (_, place) in self.busy.items() if place is None]

    def _finished(self) -> list[Any]:
        tasks = list(self.busy)
        working = len(tasks) > len(self._starting())
        ready, _ = self.ray.wait(tasks, num_returns=1, timeout=None if working else PATIENCE)
        if not ready:
            raise InputError(
                f"ray: no worker could be started within {PATIENCE:.0f} seconds; each needs {self.needs}: "
                "does the cluster have that free?"
            )
        return list(ready)

    def _taken(self, task: Any) -> Outcome | None:
        """What came of an item; None of a start. The worker is idle again unless it is lost."""
        worker, place = self.busy.pop(task)
        try:
            result, wrong, warnings = self.ray.get(task)
        except (self.ray.exceptions.RayActorError, self.ray.exceptions.ObjectLostError) as error:
            with contextlib.suppress(Exception):
                self.ray.kill(worker)
            return self._lost(place, " ".join(str(error).split())[:160])
        for line in warnings:
            _log.warning("%s", line)
        if place is None:
            if wrong:
                raise InputError(f"ray: {result}: {wrong}")
            self._say(result)
        self.idle.append(worker)
        if place is None:
            return None
        return Outcome(place, "failed", message=wrong) if wrong else Outcome(place, "done", result)

    def _lost(self, place: int | None, reason: str) -> Outcome | None:
        if place is not None:
            self._say("a worker was lost; what it was at is done again")
            return Outcome(place, "lost", message=f"{TRIES} workers were lost over it ({reason})")
        self.stillborn += 1
        if self.stillborn >= TRIES * self.size:
            raise InputError(f"ray: workers die as they start ({reason}); look into the cluster's logs")
        return None

    def _say(self, line: str) -> None:
        if not self.quiet:
            tqdm.write(f"ray: {line}", file=sys.stderr)


@contextlib.contextmanager
def open_pool(
    address: str | None, make: Callable[[], Any], *, cores: int = CORES, quiet: bool = True
) -> Iterator[Pool | Here]:
    """Readies workers: this process alone, or those of a Ray cluster.

    Args:
        address: None for this process, `local` for a cluster of this machine's cores, else a cluster's,
            such as `auto` or `10.0.0.1:6379`.
        make: makes a worker's state; a function of a module or a `functools.partial` of one.
        cores: of a worker on a cluster without GPUs; at most what it has is used.
        quiet: don't say on stderr where workers run and which are lost.

    Raises:
        InputError: Ray is not installed, or there is no such cluster.
    """
    if address is None:
        yield Here(make)
        return
    if cores < 1:
        raise InputError(f"ray: {cores} cores a worker: expected at least 1")
    ray = _import_ray()
    try:
        _check_reachable(address)
        # Ray writes what happens to workers to our standard output, where only results belong.
        with contextlib.suppress(AttributeError):
            ray._private.worker._worker_logs_enabled = False
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", **LOCAL.get(address, {}))
    except Exception as error:  # Ray has no type of its own for a cluster that is not there
        reason = " ".join(str(error).split())[:200]
        raise InputError(
            f"ray: no cluster at {address!r} ({reason}); `ray start --head` makes one"
        ) from error
    try:
        has = ray.cluster_resources()
        gpus, cpus = int(has.get("GPU", 0)), math.floor(has.get("CPU", 1))
        share = min(cores, max(1, cpus))
        needs: dict[str, float] = {"num_gpus": 1, "num_cpus": 1} if gpus else {"num_cpus": share}
        pool = Pool(ray, gpus or max(1, cpus // share), needs, make, quiet)
        try:
            pool.grow(pool.size)  # all at once: they take some seconds
            yield pool
        finally:
            pool.close()
    finally:
        ray.shutdown()


def _check_reachable(address: str) -> None:
    """Asks whether anybody listens at `host:port`: Ray itself would try for minutes.

    Raises:
        OSError: nobody does.
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), REACH).close()


def _import_ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise InputError("ray is not installed: pip install 'pagetrail[ray]'") from error
    return ray
