"""The runner on a Ray cluster: each worker asks some questions on its documents at a time.

The questions that a lost worker was at are asked again by another. All machines need this package, the
documents at the same paths (for oracles the benchmark too, for replays the run), and best a shared
PAGETRAIL_CACHE.
"""

import importlib
from collections.abc import Generator, Mapping, Sequence
from functools import partial
from typing import Any

from eval.benchmarks.types import Question
from eval.schedule import Documents, size_on_disk
from eval.worker import Desk, Opener, Opens
from eval.workers import Answered
from indexes.cluster import open_pool
from indexes.errors import InputError, one_line

CHUNK = 8  # questions on the same documents that a worker takes at a time: so many a kill can cost it

Item = tuple[list[str], list[tuple[str, str]]]
Answer = tuple[bytes, bool, str]


class Station:
    """A worker's state: the models, and the documents that it has open."""

    def __init__(self, opener: Opener, setting: Mapping[str, Any]) -> None:
        self._desk = Desk(opener)
        self._desk.reply(dict(setting))
        self._held: list[str] = []

    def ask(self, item: Item) -> list[Answer]:
        """Asks the questions of an item: of each its row, or why there is none."""
        paths, questions = item
        if paths != self._held:
            self._held = []
            value, _ = self._desk.answer({"open": paths})
            if "error" in value:
                return [(b"", True, value["error"]) for _ in questions]
            self._held = paths
        return [self._one(name, text) for name, text in questions]

    def _one(self, question_id: str, question: str) -> Answer:
        value, line = self._desk.answer({"ask": question, "id": question_id})
        return line, bool(value.get("failed", True)), str(value.get("error", ""))


def make_station(worker: Sequence[str], setting: Mapping[str, Any]) -> Station:
    """A station with what a worker's module makes.

    Raises:
        InputError: it cannot be made; this ends the run.
    """
    from agent.config import Config

    module, *arguments = worker
    try:
        opens: Opens = importlib.import_module(module).make(arguments)
        opens.ready(Config(**setting["config"], name=setting["name"]))
    except InputError:
        raise
    except Exception as error:  # as of a worker process here
        why = f"{type(error).__name__}: {one_line(str(error))[:300]}"
        raise InputError(f"the worker cannot start: {why}") from error
    return Station(opens.open, setting)


def ask_item(station: Station, item: Item) -> list[Answer]:
    """What a worker does with an item."""
    return station.ask(item)


def run_remote(
    address: str,
    worker: Sequence[str],
    setting: Mapping[str, Any],
    questions: Sequence[Question],
    *,
    quiet: bool = True,
) -> Generator[Answered, None, None]:
    """Asks questions on a cluster and yields what comes of each, in the order in which it comes.

    Args:
        address: of the cluster; `local` makes one of this machine's cores.
        worker: the module that makes what asks, and its arguments.
        setting: `config` and `name`.
        questions: what to ask.
        quiet: don't say where workers run.

    Raises:
        InputError: there is no such cluster, or its workers cannot start.
    """
    chunks = chunked(questions)
    items = [([str(p) for p in chunk[0].documents], [(q.id, q.question) for q in chunk]) for chunk in chunks]
    if not items:
        return  # a cluster takes seconds to reach
    with open_pool(address, partial(make_station, tuple(worker), dict(setting)), quiet=quiet) as pool:
        for outcome in pool.map(ask_item, items):
            chunk = chunks[outcome.place]
            answers: list[Answer] = outcome.value or [(b"", True, outcome.message)] * len(chunk)
            for question, (line, failed, reason) in zip(chunk, answers, strict=True):
                yield Answered(question, line, failed, reason)


def chunked(questions: Sequence[Question]) -> list[list[Question]]:
    """Questions on the same documents together, `CHUNK` at most, those on the biggest documents first."""
    groups: dict[Documents, list[Question]] = {}
    for question in questions:
        groups.setdefault(question.documents, []).append(question)
    ordered = sorted(groups.items(), key=lambda item: -sum(map(size_on_disk, item[0])))
    return [group[i : i + CHUNK] for _, group in ordered for i in range(0, len(group), CHUNK)]
