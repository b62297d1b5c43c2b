"""A finished run answered again from the state that it had after one of its rounds.

A run with a budget of fewer rounds goes the same way up to that budget: plan, queries, pages and facts are
those of the longer run. So the longer run's trajectory holds every shorter run, and only what comes after the
last round, the decision, the answer and its verification, is done anew, by the graph's own nodes.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from agent import endings, nodes
from agent.config import Config
from agent.state import Run, State, answered
from agent.tracing import untraced
from agent.trajectory import RoundRecord, Trajectory
from agent.types import Reader, Usage
from indexes.types import OutlineEntry, Page, PageRef
from retrieval.types import RetrievedPage

if TYPE_CHECKING:
    from PIL.Image import Image


def replay(run: Trajectory, rounds: int, reader: Reader) -> Trajectory:
    """What a run would have answered had its budget been `rounds` rounds.

    Args:
        run: a run that had at least that budget; one that stopped earlier by itself is as it is, but for the
            config.
        rounds: the budget, at least 1.
        reader: of the run's config; it decides and answers.

    Raises:
        ValueError: the budget is below 1 or above the run's own, or the run has no round.
    """
    config = _with_rounds(run, rounds)
    if rounds > len(run.rounds):
        return replace(run, config=config.model_dump(), config_digest=config.digest)
    documents = [_Sizes(doc_id, known) for doc_id, known in run.documents.items()]
    context = Run(documents, _NoRetriever(), reader, config)
    start, kept = context.clock(), _state(run, rounds)
    with untraced():
        state: State = _ending(context).invoke(kept)
    seconds = {step: round(value, 4) for step, value in state["seconds"].items()}
    reply, stop = answered(state)
    return replace(
        run,
        rounds=tuple(state["rounds"]),
        facts=tuple(state.get("facts", ())),
        reply=reply,
        stop=stop,
        failure=state.get("failure"),
        errors=tuple(state.get("errors", ())),
        labels={ref: label for ref, label in run.labels.items() if ref in set(kept["seen"])},
        revised=state.get("revised"),
        config=config.model_dump(),
        config_digest=config.digest,
        timings=seconds | {"total": round(sum(kept["seconds"].values()) + context.clock() - start, 4)},
        usage=state["usage"],
    )


def changed_later(run: Trajectory, rounds: int) -> tuple[str, ...]:
    """Facts of the first `rounds` rounds that a later one confirmed, and may have worded anew.

    A trajectory holds a fact as it stood at the end; where this is empty, a replay is exact.
    """
    first = {fact.id for fact in run.facts if fact.round <= rounds}
    later = [name for record in run.rounds[rounds:] for name in record.facts]
    return tuple(dict.fromkeys(name for name in later if name in first))


def _with_rounds(run: Trajectory, rounds: int) -> Config:
    config = Config(**run.config)
    if not 1 <= rounds <= config.rounds:
        raise ValueError(f"{rounds} rounds: the run had a budget of {config.rounds}")
    if not run.rounds:
        raise ValueError(f"run {run.question_id!r} has no round")
    return Config(**{**config.model_dump(), "rounds": rounds})


def _state(run: Trajectory, rounds: int) -> State:
    """The state before the last decision of the first `rounds` rounds."""
    kept = [*run.rounds[: rounds - 1], _undecided(run.rounds[rounds - 1])]
    labels: dict[str, dict[int, str | None]] = {}
    for ref, label in run.labels.items():
        labels.setdefault(ref.doc_id, {})[ref.page] = label
    return {
        "question": run.question,
        "strategy": run.plan,
        "queries": kept[-1].queries,
        "asked": list(dict.fromkeys(query for record in kept for query in record.queries)),
        "rounds": kept,
        "facts": [fact for fact in run.facts if fact.round <= rounds],
        "seen": list(dict.fromkeys(ref for record in kept for ref in record.read)),
        "labels": labels,
        "drafts": (),
        "missing": kept[-1].missing,
        "errors": [error for error in run.errors if error.step == "plan"],
        "seconds": {"plan": run.timings.get("plan", 0.0), "rounds": sum(record.seconds for record in kept)},
        "usage": sum((record.usage for record in kept), run.plan.usage),
    }


def _undecided(record: RoundRecord) -> RoundRecord:
    """A round without its decision, its cost and its slips."""
    decision = record.decision
    errors = tuple(error for error in record.errors if error.step != "decide")
    if decision is None:
        return replace(record, errors=errors)
    usage, notes = decision.usage, decision.notes
    return replace(
        record,
        decision=None,
        errors=errors,
        notes=record.notes[: len(record.notes) - len(notes)] if notes else record.notes,
        usage=Usage(
            record.usage.prompt_tokens - usage.prompt_tokens,
            record.usage.completion_tokens - usage.completion_tokens,
            record.usage.calls - usage.calls,
            record.usage.cost - usage.cost,
        ),
    )


def _ending(run: Run) -> Any:
    """The end of the graph: decide -> answer -> verify; with the budget spent, `decide` always answers."""
    from langgraph.graph import END, START, StateGraph

    graph = StateGraph(State)
    for node in (nodes.decide, endings.answer, endings.verify):
        graph.add_node(node.__name__, partial(node, run=run))
    for first, then in ((START, "decide"), ("decide", "answer"), ("answer", "verify"), ("verify", END)):
        graph.add_edge(first, then)
    return graph.compile()


@dataclass
class _Sizes:
    """A document of which only the size is known: nothing after the last round opens a page."""

    doc_id: str
    known: Mapping[str, Any]
    outline: tuple[OutlineEntry, ...] = ()
    failed: Mapping[int, str] = field(default_factory=dict)
    sha256: str = ""

    def __len__(self) -> int:
        return int(self.known["pages"])

    def layout(self, numbers: Collection[int]) -> dict[int, Page]:
        raise ValueError(f"{self.doc_id}: a replay opens no pages")

    def render(self, number: int, dpi: float = 144) -> "Image":
        raise ValueError(f"{self.doc_id}: a replay opens no pages")


class _NoRetriever:
    """Nothing after the last round retrieves."""

    def retrieve(self, query: str, k: int, exclude: Collection[PageRef] = ()) -> list[RetrievedPage]:
        raise ValueError("a replay retrieves nothing")
