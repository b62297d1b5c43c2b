"""The HTML of a report, from sections and from questions with what came of them."""

import base64
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from agent.page import (
    Reference,
    Shown,
    asset,
    environment,
    evidence_refs,
    fragment,
    script_json,
    whole_page,
)
from agent.trajectory import Trajectory
from agent.types import UNANSWERABLE, DraftAnswer, EvidenceRegion, Fact, Plan
from eval.analyses.slices import by_slice
from eval.analyses.stages import STAGES, stage
from eval.analyses.types import Outcome
from eval.benchmarks.types import Question
from eval.report.pictures import MAX_PAGES, PictureStore
from eval.report.sections import Section
from eval.tables import write_value
from indexes.files import document_id
from indexes.plain import plain
from indexes.types import BBox, PageRef

if TYPE_CHECKING:
    from jinja2 import Environment

VERDICTS: dict[str, str] = {
    "correct": "good",
    "right to abstain": "good",
    "wrong": "bad",
    "wrong to abstain": "bad",
    "failed": "bad",
    "unscored": "plain",
}
"""What can be said of an answer, and how it is coloured."""

MAX_SEARCHED = 1500
"""Characters of a question, its answers and its document that the text filter looks through."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A question, what came of it, and its row; None where it has none."""

    question: Question
    outcome: Outcome
    row: Mapping[str, Any] | None


def verdict(outcome: Outcome) -> str:
    """What can be said of an answer, one of `VERDICTS`."""
    if outcome.failed:
        return "failed"
    if outcome.correct is None:
        return "unscored"
    if outcome.abstained:
        return "right to abstain" if outcome.correct else "wrong to abstain"
    return "correct" if outcome.correct else "wrong"


def trajectory_of(entry: Entry) -> Trajectory:
    """The run of a question: ours, or for a row without one of ours what its citations say."""
    row = entry.row or {"question_id": entry.question.id, "model": "", "status": "error: no row"}
    try:
        return Trajectory.from_row(row)
    except (ValueError, KeyError):
        return _of_citations(entry, row)


def _of_citations(entry: Entry, row: Mapping[str, Any]) -> Trajectory:
    question = entry.question
    parsed = row.get("parsed")
    parsed = parsed if isinstance(parsed, dict) else {}
    citations = parsed.get("citations")
    facts = tuple(_cited_facts(citations if isinstance(citations, list) else [], question))
    answer = parsed.get("answer")
    status = str(row.get("status", "ok"))
    return Trajectory(
        question_id=question.id,
        question=question.question,
        documents={document_id(path): {} for path in question.documents},
        model=str(row.get("model", "")),
        plan=Plan("span", (question.question,), (question.question,)),
        rounds=(),
        facts=facts,
        reply=DraftAnswer(
            str(answer or row.get("model_raw") or UNANSWERABLE), tuple(f.id for f in facts), "", 0.0
        ),
        stop="answered" if status == "ok" else "error",
        failure=None if status == "ok" else status,
    )


def _cited_facts(citations: Sequence[Any], question: Question) -> Iterator[Fact]:
    """The cited sentences as facts of no known support; what is no box of the page is left out."""
    only = document_id(question.documents[0])
    by_sentence: dict[str, list[EvidenceRegion]] = {}
    for citation in citations:
        try:
            if citation.get("is_normalized") is not True:
                continue  # as the public region scorer has it
            ref = PageRef(str(citation.get("doc") or only), citation["page"])
            region = EvidenceRegion(ref, BBox.clipped(*citation["bbox"]))
        except (KeyError, TypeError, ValueError, AttributeError):
            continue
        by_sentence.setdefault(str(citation.get("sentence") or ""), []).append(region)
    for number, (sentence, regions) in enumerate(by_sentence.items(), 1):
        yield Fact(f"f{number}", sentence or "(no sentence)", "", tuple(regions), "none", 0)


def reference_of(question: Question) -> Reference:
    """What the benchmark says is right."""
    return Reference(
        question.answer if question.answerable else f"{question.answer or UNANSWERABLE} (unanswerable)",
        question.gold_pages,
        tuple(EvidenceRegion(region.ref, region.bbox) for region in question.gold_regions),
        tuple(fact.text for fact in question.gold_facts),
    )


def wanted_pages(entry: Entry) -> list[PageRef]:
    """The pages that a question shows."""
    return evidence_refs(trajectory_of(entry), reference_of(entry.question))[:MAX_PAGES]


def build(
    title: str,
    facts: Sequence[tuple[str, str]],
    sections: Sequence[Section],
    entries: Sequence[Entry],
    store: PictureStore,
) -> str:
    """The report as one HTML page.

    Args:
        title: of the page.
        facts: what was run, name and value.
        sections: tables and plots, in their order.
        entries: the questions; none for a report of tables only.
        store: their pictures.
    """
    from markupsafe import Markup

    numbers, slices = _slice_numbers(entries)
    outcomes = [entry.outcome for entry in entries]
    used = {verdict(outcome) for outcome in outcomes}
    failed = {stage(outcome) for outcome in outcomes}
    body = (
        _environment()
        .get_template("report.html")
        .render(
            title=title,
            facts=facts,
            sections=sections,
            entries=[_line(entry) for entry in entries],
            verdicts=[name for name in VERDICTS if name in used],
            stages=[name for name in STAGES if name in failed],
            slices=slices,
            index=Markup(script_json([_indexed(entry, numbers) for entry in entries])),
            details=(Markup(script_json(_detail(entry, store))) for entry in entries),
            pictures=((key, Markup(data)) for key, data in store.embedded),
        )
    )
    return whole_page(
        title, body, scripts=(asset("trajectory.js"), _asset("report.js")), style=_asset("report.css")
    )


def _slice_numbers(
    entries: Sequence[Entry],
) -> tuple[dict[tuple[str, str], int], list[tuple[str, list[tuple[int, str]]]]]:
    """A number for each value of each slice, and the values by slice for the filter."""
    numbers: dict[tuple[str, str], int] = {}
    listed = []
    for name, values in by_slice([entry.outcome for entry in entries]).items():
        for value in values:
            numbers[name, value] = len(numbers) + 1
        listed.append((name, [(numbers[name, value], value) for value in values]))
    return numbers, listed


def _line(entry: Entry) -> dict[str, str]:
    said = verdict(entry.outcome)
    run = trajectory_of(entry)
    return {
        "question": entry.question.question,
        "answer": run.answer,
        "gold": reference_of(entry.question).answer,
        "verdict": said,
        "kind": VERDICTS[said],
        "stage": stage(entry.outcome) or "",
    }


def _indexed(entry: Entry, numbers: Mapping[tuple[str, str], int]) -> dict[str, Any]:
    own = {"answerable": ("yes" if entry.outcome.answerable else "no",), **entry.outcome.slices}
    line = _line(entry)
    names = " ".join(document_id(path) for path in entry.question.documents)
    searched = f"{entry.question.id} {names} {line['question']} {line['answer']} {line['gold']}"
    return {
        "verdict": line["verdict"],
        "stage": line["stage"],
        "slices": [numbers[name, value] for name, values in own.items() for value in dict.fromkeys(values)],
        "text": plain(searched, MAX_SEARCHED).lower(),
    }


def _detail(entry: Entry, store: PictureStore) -> str:
    said, failed = verdict(entry.outcome), stage(entry.outcome)
    verdicts = [(said, VERDICTS[said])]
    if entry.outcome.score is not None and not entry.outcome.failed:
        verdicts.append((f"score {entry.outcome.score:.2f}", "plain"))
    if failed is not None:
        verdicts.append((STAGES[failed], "plain"))
    verdicts += [(label, "plain") for label in _judged(entry)]
    run, gold = trajectory_of(entry), reference_of(entry.question)
    return fragment(Shown(run, gold, verdicts, store.pictures, MAX_PAGES))


def _judged(entry: Entry) -> Iterator[str]:
    for number, region in enumerate(entry.question.gold_regions, 1):
        if entry.outcome.regions and region.id in entry.outcome.regions:
            yield f"g{number} {entry.outcome.regions[region.id].replace('_', ' ')}"
    if entry.outcome.facts:
        said = sum(entry.outcome.facts.values())
        yield f"{said} of {len(entry.outcome.facts)} gold facts said"


def _svg_uri(svg: str) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()


@functools.cache
def _asset(name: str) -> str:
    return (resources.files("eval.report") / "templates" / name).read_text(encoding="utf-8")


@functools.cache
def _environment() -> "Environment":
    import jinja2

    made = environment().overlay(loader=jinja2.FunctionLoader(_asset))
    made.filters["figure"] = write_value
    made.filters["svg_uri"] = _svg_uri
    return made
