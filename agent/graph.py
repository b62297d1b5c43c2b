"""The graph: plan -> retrieve -> read -> record -> decide -> (retrieve | answer) -> verify.

LangGraph runs the nodes of `agent.nodes`; budgets of rounds, pages and seconds end a run in `decide`, with
the best it has. The recursion limit is set beyond what the rounds can reach.
"""

import os
import platform
from functools import cache, partial
from importlib import metadata
from typing import Any

from agent import nodes
from agent.state import Run, State
from agent.tracing import untraced
from agent.trajectory import Trajectory
from agent.types import Usage
from indexes.types import PageRef

NODES_A_ROUND = 4
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
        nodes.answer,
        nodes.verify,
    ):
        graph.add_node(node.__name__, partial(node, run=run))
    graph.add_edge(START, "plan")
    graph.add_edge("plan", "retrieve")
    graph.add_edge("retrieve", "read")
    graph.add_edge("read", "record")
    graph.add_edge("record", "decide")
    graph.add_conditional_edges("decide", nodes.go_on, ["retrieve", "answer"])
    graph.add_edge("answer", "verify")
    graph.add_edge("verify", END)
    return graph.compile(checkpointer=checkpointer)


def recursion_limit(rounds: int) -> int:
    """Steps that the graph may take: more than `rounds` rounds can use."""
    return NODES_A_ROUND * rounds + SLACK


def ask(question: str, run: Run, *, question_id: str, model: str) -> Trajectory:
    """Runs the graph on a question and returns what the run leaves; it never raises for what a reader did."""
    graph = build(run)
    start = run.clock()
    with untraced():
        state: State = graph.invoke(
            {"question": question}, {"recursion_limit": recursion_limit(run.config.rounds)}
        )
    timings = {step: round(seconds, 4) for step, seconds in state["seconds"].items()}
    return _trajectory(state, run, question_id, model, timings | {"total": round(run.clock() - start, 4)})


def _trajectory(
    state: State, run: Run, question_id: str, model: str, timings: dict[str, float]
) -> Trajectory:
    facts = tuple(state.get("facts", []))
    return Trajectory(
        question_id=question_id,
        question=state["question"],
        documents={doc_id: {"pages": size} for doc_id, size in run.sizes.items()},
        model=model,
        plan=state["strategy"],
        rounds=tuple(state["rounds"]),
        facts=facts,
        reply=state["reply"],
        stop=state["stop"],
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
