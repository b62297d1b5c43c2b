"""A run by the breakdowns of its benchmark: which questions fall into which slice."""

from collections.abc import Iterable

from eval.analyses.types import Outcome


def by_slice(outcomes: Iterable[Outcome]) -> dict[str, dict[str, tuple[Outcome, ...]]]:
    """The outcomes by slice and value, both sorted; one with several values is in each of them.

    Every outcome is also in the slice `answerable`, value `yes` or `no`.
    """
    found: dict[str, dict[str, list[Outcome]]] = {}
    for outcome in outcomes:
        own = {"answerable": ("yes" if outcome.answerable else "no",), **outcome.slices}
        for name, values in own.items():
            for value in dict.fromkeys(values):
                found.setdefault(name, {}).setdefault(value, []).append(outcome)
    return {
        name: {value: tuple(members) for value, members in sorted(values.items())}
        for name, values in sorted(found.items())
    }
