"""Why a run goes on or ends: its budgets, the reason that is recorded, the graph's edges."""

from collections.abc import Iterable

from agent.models import OutOfTimeError
from agent.state import Run, State, spent
from agent.trajectory import StepError, StopReason
from agent.types import Decision


def exhausted(state: State, run: Run) -> StopReason | None:
    """What lets no further round begin: a budget is spent, or every page was read; None where one may."""
    seen = len(state.get("seen", ()))
    if state["rounds"][-1].number >= run.config.rounds:
        return "rounds"
    if seen >= run.config.max_pages:
        return "pages"
    if out_of_time(state, run):
        return "seconds"
    return "nothing_left" if seen >= sum(run.sizes.values()) else None


def out_of_time(state: State, run: Run) -> bool:
    """Whether the seconds are spent, or too few are left for what the round's calls still had to wait for."""
    return spent(state) >= run.config.max_seconds or gave_up(state["rounds"][-1].errors)


def gave_up(errors: Iterable[StepError]) -> bool:
    """Whether a call was given up because no time was left for another try."""
    return any(error.kind == OutOfTimeError.__name__ for error in errors)


def stop_reason(state: State, run: Run, decision: Decision, *, failed: bool) -> StopReason | None:
    """Why the run stops after a round, None where it goes on.

    Args:
        state: with the round that was just read.
        run: its budgets.
        decision: the reader's.
        failed: whether the reader could not decide.
    """
    latest = state["rounds"][-1]
    if failed or (latest.errors and not latest.retrieved):
        return "error"
    over = exhausted(state, run)
    if decision.action == "answer":
        if state.get("reply") is not None:
            return "abstained"
        # Where nothing was read since the reader asked for more, it did not come to have enough.
        unread = not latest.read or gave_up(latest.errors)
        return over if over is not None and unread and latest.number > 1 else "answered"
    if over is not None:
        return over
    new = set(decision.queries) - set(state.get("asked", ()))
    return None if latest.read or new else "nothing_left"


def after_decide(state: State) -> str:
    """Edge: another round, the answer, or the end where an answer was tried and no more is to be had."""
    if state.get("stop") is None:
        return "retrieve"
    return "answer" if state.get("reply") is None else "end"


def after_verify(state: State, run: Run) -> str:
    """Edge: the end, or once more to the decision where facts called enough came to no answer.

    The reader then either asks for another round, of which the budget bounds the number, or ends the run.
    """
    return "decide" if state["stop"] == "abstained" and exhausted(state, run) is None else "end"
