"""What a run leaves: the trajectory, and the DocScope row that carries it.

A row is one JSON line of an `infer.jsonl` (`question_id`, `model`, `model_raw`, `thinking`, `parsed`,
`infer_usage`, `status`) which the public scorers read as it is; `trajectory` in it holds every round, so that
`Trajectory.from_row` replays the run.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from agent.citations import Citation, ParsedText, cite, parse_model_raw, write_model_raw
from agent.records import (
    RoundRecord,
    StepError,
    StopReason,
    error_json,
    fact_json,
    read_errors,
    read_fact,
    read_ref,
    read_round,
    read_usage,
    ref_json,
    round_json,
    usage_json,
)
from agent.types import DraftAnswer, EvidenceRegion, Fact, Plan, Usage
from indexes.types import PageRef

__all__ = [
    "Citation",
    "ParsedText",
    "RoundRecord",
    "StepError",
    "StopReason",
    "Trajectory",
    "parse_model_raw",
]

NEAREST = 3
"""Facts that an abstention cites, the nearest evidence, so that a person sees what was weighed."""

FORMAT = 2


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A question's whole run.

    Attributes:
        documents: by `doc_id`, in the order given, what is known of each: sha256, pages, pages that were
            OCRed (`ocred`) or failed (`failed`), what was wrong with the file (`warning`).
        reply: the verified answer with the ids of the facts it rests on.
        stop: why the run ended.
        failure: why there is no answer at all, None for a run that has one (an abstention is an answer).
        errors: steps outside the rounds that failed (plan, answer).
        labels: the printed labels of the pages that facts stand on.
        revised: why the first answer was not let through, None if it was.
        prompts: of a reader that works by prompts, their hashes by role.
        timings: seconds by step, and `total`.
        usage: what all calls of a model cost.
    """

    question_id: str
    question: str
    documents: Mapping[str, Mapping[str, Any]]
    model: str
    plan: Plan
    rounds: tuple[RoundRecord, ...]
    facts: tuple[Fact, ...]
    reply: DraftAnswer
    stop: StopReason
    failure: str | None = None
    errors: tuple[StepError, ...] = ()
    labels: Mapping[PageRef, str | None] = field(default_factory=dict)
    revised: str | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    config_digest: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    prompts: Mapping[str, str] = field(default_factory=dict)
    timings: Mapping[str, float] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)

    @property
    def doc_id(self) -> str:
        """The document, of several the first."""
        return next(iter(self.documents))

    @property
    def several(self) -> bool:
        """Whether pages must say whose they are."""
        return len(self.documents) > 1

    @property
    def answer(self) -> str:
        """The answer's text; exactly `Unanswerable` for an abstention, empty where the run failed."""
        return self.reply.text if self.failure is None else ""

    @property
    def cited(self) -> tuple[Fact, ...]:
        """The facts that the answer rests on, in its order."""
        by_id = {fact.id: fact for fact in self.facts}
        return tuple(by_id[i] for i in self.reply.fact_ids if i in by_id)

    @property
    def other(self) -> tuple[Fact, ...]:
        """The other facts, those that matter most first, each statement once."""
        rest = sorted(self.facts, key=lambda fact: (-fact.score, int(fact.id[1:])))
        return _distinct([*self.cited, *rest])[len(_distinct(self.cited)) :]

    @property
    def shown(self) -> tuple[Fact, ...]:
        """The facts that the prose cites: those of the answer, for an abstention the nearest evidence."""
        return self.other[:NEAREST] if self.reply.abstains else _distinct(self.cited)

    @property
    def pages_read(self) -> tuple[PageRef, ...]:
        """The pages read, in the order of reading."""
        return tuple(page for record in self.rounds for page in record.read)

    def model_raw(self) -> str:
        """The cited prose that a DocScope scorer reads."""
        facts = [
            (
                fact.text,
                [cite(r.ref.page, self.labels.get(r.ref), r.bbox, r.ref.doc_id) for r in fact.regions],
            )
            for fact in self.shown
        ]
        lead = self.reply.reason if self.reply.abstains else ""
        return write_model_raw(facts, self.reply.text, lead, tuple(self.documents))

    def row(self) -> dict[str, Any]:
        """The DocScope row, with the trajectory under `trajectory`."""
        row: dict[str, Any] = {"question_id": self.question_id, "model": self.model}
        if self.failure is None:
            raw = self.model_raw()
            row |= {
                "model_raw": raw,
                "thinking": self.thinking(),
                "parsed": parse_model_raw(raw, tuple(self.documents)).as_json(),
                "infer_usage": {
                    "prompt_tokens": self.usage.prompt_tokens,
                    "completion_tokens": self.usage.completion_tokens,
                    "total_tokens": self.usage.total_tokens,
                },
                "status": "ok",
            }
        else:
            row["status"] = f"error: {' '.join(self.failure.split())}"
        return row | {"trajectory": self.as_json()}

    def line(self) -> str:
        """The row as one line of JSON; characters that UTF-8 cannot hold are escaped."""
        text = json.dumps(self.row(), ensure_ascii=False, allow_nan=False)
        return text if _encodable(text) else json.dumps(self.row(), allow_nan=False)

    def thinking(self) -> str:
        """The run in words, a line a round."""
        lines = []
        for record in self.rounds:
            named = (f"{ref.doc_id} {ref.page}" if self.several else str(ref.page) for ref in record.read)
            pages = ", ".join(named) or "none"
            reason = record.decision.reason if record.decision else ""
            queries = "; ".join(record.queries)
            lines.append(
                f"Round {record.number}: queries {queries!r}; pages read {pages}; {reason}".rstrip("; ")
            )
        if self.revised:
            lines.append(f"Revised: {self.revised}")
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        """The trajectory as JSON values; `from_json` reads it back."""
        return {
            "format": FORMAT,
            "question": self.question,
            "documents": [{"doc": doc_id, **known} for doc_id, known in self.documents.items()],
            "plan": {
                "answer_type": self.plan.answer_type,
                "parts": list(self.plan.parts),
                "queries": list(self.plan.queries),
                "sweep": self.plan.sweep,
                "notes": list(self.plan.notes),
                "usage": usage_json(self.plan.usage),
            },
            "rounds": [round_json(record) for record in self.rounds],
            "facts": [fact_json(fact, self.labels) for fact in self.facts],
            "answer": {
                "text": self.reply.text,
                "fact_ids": list(self.reply.fact_ids),
                "reason": self.reply.reason,
                "confidence": self.reply.confidence,
                "expression": self.reply.expression,
                "revised": self.revised,
                "coverage": self.reply.coverage,
                "incomplete": self.reply.incomplete,
                "unsupported": self.reply.unsupported,
                "notes": list(self.reply.notes),
                "usage": usage_json(self.reply.usage),
            },
            "stop_reason": self.stop,
            "failure": self.failure,
            "errors": [error_json(error) for error in self.errors],
            "labels": [{**ref_json(ref), "label": label} for ref, label in sorted(self.labels.items())],
            "config": dict(self.config),
            "config_digest": self.config_digest,
            "versions": dict(self.versions),
            "prompts": dict(self.prompts),
            "timings": dict(self.timings),
            "usage": usage_json(self.usage),
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "Trajectory":
        """Reads a run back from its row.

        Raises:
            ValueError: the row carries no trajectory of ours, or a broken one.
        """
        name = row.get("question_id")
        try:
            return _from_json(row["trajectory"], str(name), str(row["model"]))
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise ValueError(
                f"row {name!r}: expected a pagetrail trajectory ({type(error).__name__}: {error})"
            ) from error


def _distinct(facts: Sequence[Fact]) -> tuple[Fact, ...]:
    """Facts without those that say at the same place what one before them says (for another part)."""
    first: dict[tuple[str, tuple[EvidenceRegion, ...]], Fact] = {}
    for fact in facts:
        first.setdefault((fact.text, fact.regions), fact)
    return tuple(first.values())


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _from_json(data: Mapping[str, Any], question_id: str, model: str) -> Trajectory:
    if data["format"] != FORMAT or data["stop_reason"] not in get_args(StopReason):
        raise ValueError(
            f"row {question_id!r}: trajectory format {data['format']!r}, stop reason {data['stop_reason']!r}"
        )
    return Trajectory(
        question_id=question_id,
        question=data["question"],
        documents=_read_documents(data["documents"]),
        model=model,
        plan=_read_plan(data["plan"]),
        rounds=tuple(read_round(record) for record in data["rounds"]),
        facts=tuple(read_fact(fact) for fact in data["facts"]),
        reply=_read_reply(data["answer"]),
        stop=data["stop_reason"],
        failure=data["failure"],
        errors=read_errors(data["errors"]),
        labels={read_ref(page): page["label"] for page in data["labels"]},
        revised=data["answer"]["revised"],
        config=data["config"],
        config_digest=data["config_digest"],
        versions=data["versions"],
        prompts=data["prompts"],
        timings=data["timings"],
        usage=read_usage(data["usage"]),
    )


def _read_documents(data: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    return {known["doc"]: {key: value for key, value in known.items() if key != "doc"} for known in data}


def _read_plan(data: Mapping[str, Any]) -> Plan:
    texts = tuple(data["parts"]), tuple(data["queries"])
    return Plan(data["answer_type"], *texts, read_usage(data["usage"]), tuple(data["notes"]), data["sweep"])


def _read_reply(data: Mapping[str, Any]) -> DraftAnswer:
    return DraftAnswer(
        data["text"],
        tuple(data["fact_ids"]),
        data["reason"],
        data["confidence"],
        data["expression"],
        read_usage(data["usage"]),
        tuple(data["notes"]),
        data["coverage"],
        data["incomplete"],
        data["unsupported"],
    )
