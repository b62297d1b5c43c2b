"""What a run does, line by line, as it does it: queries, pages, facts."""

from collections.abc import Iterable, Sequence
from typing import IO

from agent.naming import ref_spans
from agent.records import RoundRecord
from agent.show import place
from agent.state import State
from agent.types import Fact
from indexes.plain import plain
from indexes.types import PageRef

WIDTH = 150  # characters of a fact or a reason
LISTED = 8


class Live:
    """Writes a line or a few for every step of a run, as the graph reports them.

    Args:
        stream: where to; nothing that a document or a model says can steer a terminal.
        several: whether pages say whose they are.
    """

    def __init__(self, stream: IO[str], *, several: bool = False) -> None:
        self._stream = stream
        self._several = several
        self._labels: dict[str, dict[int, str | None]] = {}
        self._slips: set[str] = set()  # notes of the round's decision and answer that were shown

    def __call__(self, step: str, update: State) -> None:
        """Shows what a step changed; `resume` is the state of a run that was broken off and goes on."""
        self._labels = {**self._labels, **update.get("labels", {})}
        told = {
            "resume": self._resumed,
            "plan": _planned,
            "retrieve": self._retrieved,
            "read": self._read,
            "record": self._recorded,
            "decide": self._decided,
            "answer": self._answered,
            "verify": _verified,
        }.get(step)
        for line in told(update) if told else ():
            self._stream.write(f"{line}\n")
        self._stream.flush()

    def _resumed(self, state: State) -> list[str]:
        rounds, facts = state.get("rounds", []), state.get("facts", [])
        where = f"round {rounds[-1].number}" if rounds else "the plan"
        read = sum(len(record.read) for record in rounds)
        return [f"going on with a run that was broken off in {where}: {read} pages read, {len(facts)} facts"]

    def _retrieved(self, update: State) -> list[str]:
        record = update["rounds"][-1]
        self._slips = set()
        queries = "; ".join(f'"{plain(query, 80)}"' for query in record.queries)
        found = [self._place_of(page.ref) for page in record.retrieved[:LISTED]]
        more = len(record.retrieved) - len(found)
        pages = ", ".join(found) + (f" and {more} more" if more > 0 else "")
        return [f"round {record.number}: looking for {queries}", f"  found {pages or 'nothing'}"]

    def _place_of(self, ref: PageRef) -> str:
        return place(ref, self._labels.get(ref.doc_id, {}).get(ref.page), several=self._several)

    def _read(self, update: State) -> list[str]:
        record = update["rounds"][-1]
        pages = ref_spans(record.read, several=self._several)
        named = pages if self._several else f"p. {pages}"
        lines = [f"  read {named if record.read else 'nothing'}"]
        lines += [f"  error in {error.step}: {plain(error.message, WIDTH)}" for error in record.errors]
        return [*lines, *_noted(record.notes)]

    def _recorded(self, update: State) -> list[str]:
        facts: Sequence[Fact] = update.get("facts", [])
        best = sorted(facts, key=lambda fact: -fact.score)[:LISTED]
        lines = [
            f"  {fact.id} {self._place_of(fact.regions[0].ref)}  {fact.support}  {plain(fact.text, WIDTH)}"
            for fact in facts
            if fact in best
        ]
        more = len(facts) - len(lines)
        dropped = len(update["rounds"][-1].dropped)
        lines += [f"  and {more} more facts"] if more > 0 else []
        return [*lines, f"  {dropped} dropped, not borne out by the page"] if dropped else lines

    def _decided(self, update: State) -> list[str]:
        record: RoundRecord = update["rounds"][-1]
        if record.decision is None:
            return []
        does = {None: "going on", "abstained": "giving up"}.get(update.get("stop"), "answering")
        return [*self._fresh(record.decision.notes), f"  {does}: {plain(record.decision.reason, WIDTH)}"]

    def _answered(self, update: State) -> list[str]:
        reply = update["reply"]
        return [*self._fresh(reply.notes if reply else ()), *_failed(update)]

    def _fresh(self, notes: Iterable[str]) -> list[str]:
        """Notes that were not shown yet: a round may be decided on twice, with an answer tried in between."""
        fresh = [note for note in dict.fromkeys(notes) if note not in self._slips]
        self._slips.update(fresh)
        return _noted(fresh)


def _planned(update: State) -> list[str]:
    made = update["strategy"]
    parts = "; ".join(plain(part, WIDTH) for part in made.parts)
    return [*([f"plan: {parts}"] if len(made.parts) > 1 else []), *_noted(made.notes), *_failed(update)]


def _noted(notes: Iterable[str]) -> list[str]:
    return [f"  note: {plain(note, WIDTH)}" for note in notes]


def _failed(update: State) -> list[str]:
    """Errors of the steps outside the rounds."""
    return [f"  error in {error.step}: {plain(error.message, WIDTH)}" for error in update.get("errors", [])]


def _verified(update: State) -> list[str]:
    why = update.get("revised")
    return [f"the answer was revised: {plain(why, WIDTH)}"] if why else []
