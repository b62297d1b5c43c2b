"""Which question goes to which worker: each keeps its document open, big documents come first."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from eval.benchmarks.types import Question

Documents = tuple[Path, ...]


@dataclass
class _Group:
    """The questions on the same documents, and how many workers have them open."""

    weight: int
    waiting: deque[Question] = field(default_factory=deque)
    holders: int = 0


class Schedule:
    """The questions still to be asked.

    A worker asks all questions of its document, then opens the biggest one that nobody has open (so that no
    long one is left for the end), then helps with the document that has most questions left.
    """

    def __init__(self, questions: Sequence[Question]) -> None:
        groups: dict[Documents, _Group] = {}
        for question in questions:
            if question.documents not in groups:
                groups[question.documents] = _Group(sum(map(size_on_disk, question.documents)))
            groups[question.documents].waiting.append(question)
        self._groups = dict(sorted(groups.items(), key=lambda item: -item[1].weight))

    def __len__(self) -> int:
        """Questions that wait."""
        return sum(len(group.waiting) for group in self._groups.values())

    def take(self, held: Documents | None) -> Question | None:
        """The next question for a worker that holds some documents; None where nothing waits for it."""
        mine = self._groups.get(held) if held is not None else None
        if mine is not None and mine.waiting:
            return mine.waiting.popleft()
        free = [g for g in self._groups.values() if g.waiting and not g.holders]
        shared = [g for g in self._groups.values() if len(g.waiting) > 1]
        if free:
            return free[0].waiting.popleft()
        return max(shared, key=lambda g: len(g.waiting)).waiting.popleft() if shared else None

    def give_back(self, question: Question) -> None:
        """Puts a question that was taken back to the front."""
        self._groups[question.documents].waiting.appendleft(question)

    def hold(self, documents: Documents) -> None:
        """Notes that a worker opens documents."""
        self._groups[documents].holders += 1

    def release(self, documents: Documents) -> None:
        """Notes that a worker has them open no more."""
        self._groups[documents].holders -= 1

    def give_up(self, documents: Documents) -> list[Question]:
        """Takes all questions on documents that cannot be opened."""
        waiting = self._groups[documents].waiting
        given = list(waiting)
        waiting.clear()
        return given


def size_on_disk(document: Path) -> int:
    """Bytes of a PDF or of the files in a folder; 0 where there is nothing."""
    try:
        if document.is_dir():
            return sum(file.stat().st_size for file in document.iterdir())
        return document.stat().st_size
    except OSError:
        return 0
