"""The graph: plan -> retrieve -> read -> record -> decide -> (retrieve | answer) -> verify -> (decide | end).

LangGraph runs the nodes of `agent.nodes` and `agent.endings`; budgets of rounds, pages and seconds end a run
in `decide`, with the best it has. The recursion limit is set beyond what the rounds can reach.
"""

import os
import platform
from collections.abc import Callable, Hashable
from contextlib import nullcontext
from functools import cache, partial
from importlib import metadata
from typing import Any

from agent import endings, nodes, stopping
from agent.state import Run, State, answered, spent
from agent.steps import THREAD, earlier, kept_steps, steps_file
from agent.tracing import untraced
from agent.trajectory import Trajectory
from agent.types import Usage
from indexes.types import PageRef

Watch = Callable[[str, State], None]

NODES_A_ROUND = 7
"""Retrieve, read, record, decide; an answer tried in vain, its verification, decide again."""

SLACK = 10

LIBRARIES = ("faiss-cpu", "langgraph", "numpy", "pydantic", "pymupdf", "torch", "transformers")


def build(run: Run, checkpointer: Any = None) -> Any:
    """Compiles the graph over a run's document, retriever and reader.

    Args:
        run: what the nodes share.
        checkpointer: a LangGraph checkpointer that stores the state after each node, or None.
    """
    os.environ.setdefault("LANGSMITH_TRACING", "false")
    from langgraph.graph import END, START, StateGraph

    graph = StateGraph(State)
    for node in (
        nodes.plan,
        nodes.retrieve,
        nodes.read,
        nodes.record,
        nodes.decide,
        endings.answer,
        endings.verify,
    ):
        graph.add_node(node.__name__, partial(node, run=run))
    graph.add_edge(START, "plan")
    graph.add_edge("plan", "retrieve")
    graph.add_edge("retrieve", "read")
    graph.add_edge("read", "record")
    graph.add_edge("record", "decide")
    ways: dict[Hashable, str] = {"retrieve": "retrieve", "answer": "answer", "end": END}
    graph.add_conditional_edges("decide", stopping.after_decide, ways)
    graph.add_edge("answer", "verify")
    again: dict[Hashable, str] = {"decide": "decide", "end": END}
    graph.add_conditional_edges("verify", partial(stopping.after_verify, run=run), again)
    return graph.compile(checkpointer=checkpointer)


def recursion_limit(rounds: int) -> int:
    """Steps that the graph may take: more than `rounds` rounds can use."""
    return NODES_A_ROUND * rounds + SLACK


def ask(
    question: str,
    run: Run,
    *,
    question_id: str,
    model: str,
    keep: bool = False,
    watch: Watch | None = None,
) -> Trajectory:
    """Runs the graph on a question and returns what the run leaves; it never raises for what a reader did.

    Args:
        question: what is asked.
        run: documents, retriever, reader and config.
        question_id: of the trajectory.
        model: of the trajectory.
        keep: keep every step on disk until the run ends; the same run, broken off before, goes on where it
            was.
        watch: is told every step's name and what it changed, as it ends; of a run that goes on first
            `resume` and what is known.

    Raises:
        InputError: something that the user can put right stops the run.
    """
    with untraced(), kept_steps(steps_file(question, run)) if keep else nullcontext() as saver:
        graph = build(run, saver)
        found = earlier(graph) if saver is not None else None
        before = 0.0 if found is None else spent(found)
        start = run.clock()
        if found is not None and watch is not None:
            watch("resume", found)
        state = _run(graph, {"question": question} if found is None else None, run, watch)
    timings = {step: round(seconds, 4) for step, seconds in state["seconds"].items()}
    timings["total"] = round(before + run.clock() - start, 4)
    return _trajectory(state, run, question_id, model, timings)


def _run(graph: Any, begin: State | None, run: Run, watch: Watch | None) -> State:
    """The state at the end; `begin` is None for a run that goes on."""
    config: dict[str, Any] = {"recursion_limit": recursion_limit(run.config.rounds), **THREAD}
    kept: dict[str, Any] = {"durability": "sync"} if graph.checkpointer is not None else {}
    state: State = {}
    for mode, chunk in graph.stream(begin, config, stream_mode=["updates", "values"], **kept):
        if mode == "values":
            state = chunk
        elif watch is not None:
            for step, update in chunk.items():
                watch(step, update)
    # A run that was broken off after its last step has nothing left to do.
    return state if state.get("reply") is not None else graph.get_state(config).values


def _trajectory(
    state: State, run: Run, question_id: str, model: str, timings: dict[str, float]
) -> Trajectory:
    facts = tuple(state.get("facts", []))
    reply, stop = answered(state)
    return Trajectory(
        question_id=question_id,
        question=state["question"],
        documents={doc_id: {"pages": size} for doc_id, size in run.sizes.items()},
        model=model,
        plan=state["strategy"],
        rounds=tuple(state["rounds"]),
        facts=facts,
        reply=reply,
        stop=stop,
        failure=state.get("failure"),
        errors=tuple(state.get("errors", [])),
        labels={
            PageRef(doc_id, page): label
            for doc_id, labels in state.get("labels", {}).items()
            for page, label in labels.items()
        },
        revised=state.get("revised"),
        config=run.config.model_dump(),
        config_digest=run.config.digest,
        versions=versions(),
        prompts=dict(getattr(run.reader, "prompts", {})),
        timings=timings,
        usage=state.get("usage", Usage()),
    )


@cache
def versions() -> dict[str, str]:
    """Versions of Python, of this package and of the libraries that decide what a run gives."""
    found = {"python": platform.python_version(), "pagetrail": package_version()}
    for name in LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def package_version() -> str:
    """The installed version, `unknown` where the folders are used without being installed."""
    try:
        return metadata.version("pagetrail")
    except metadata.PackageNotFoundError:
        return "unknown"
