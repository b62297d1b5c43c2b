"""A benchmark and runs on it whose texts try to break out of a page, made without a reader."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agent.config import Config
from agent.records import RoundRecord
from agent.trajectory import Trajectory
from agent.types import UNANSWERABLE, Decision, DraftAnswer, EvidenceRegion, Fact, Plan
from eval import smoke
from eval.benchmarks import load
from eval.benchmarks.types import Question
from eval.digest import data_digest
from eval.identity import Identity
from eval.runs import open_run
from indexes.types import BBox, PageRef
from retrieval.types import RetrievedPage

HOSTILE = (
    "<script>window.hacked=1</script>\"'><img src=x onerror=window.hacked=2></script>"
    "<script>window.hacked=3</script><!-- ${window.hacked=4} {{ 7 * 7 }} &amp; \u2028 \u202e ]]>"
)


def make_benchmark(folder: Path, hostile: bool = True) -> Path:
    """The smoke benchmark; its first question, an answer, a fact and a slice are hostile."""
    smoke.write_benchmark(folder)
    if hostile:
        rows = json.loads((folder / "benchmark.json").read_text())
        rows[0]["question"] += HOSTILE
        rows[0]["facts"][0]["text_description"] += HOSTILE
        rows[1]["answer"]["answer_text"] = HOSTILE
        rows[2]["extract_class"] = f"table {HOSTILE}"
        rows[3]["extract_class"] = "chart"
        (folder / "benchmark.json").write_text(json.dumps(rows))
    return folder


def trajectory(
    question: Question,
    answer: str,
    *,
    regions: Sequence[EvidenceRegion] = (),
    text: str = "",
    rounds: int = 1,
    config: Config | None = None,
) -> Trajectory:
    """A run that answers, resting on one fact in some regions; without regions on none."""
    doc_id = question.documents[0].stem
    refs = tuple(dict.fromkeys(region.ref for region in regions)) or (PageRef(doc_id, 1),)
    facts = (
        (Fact("f1", text or answer, text or answer, tuple(regions), "exact", rounds, 0.9),) if regions else ()
    )
    made = []
    for number in range(1, rounds + 1):
        found = [PageRef(doc_id, number + 3), *refs] if number == rounds else [PageRef(doc_id, number + 3)]
        ranking = tuple(
            RetrievedPage(ref, 1 / rank, rank, matched=(text or "bm25",)) for rank, ref in enumerate(found, 1)
        )
        last = number == rounds
        made.append(
            RoundRecord(
                number,
                (text or question.question,),
                ranking,
                tuple(page.ref for page in ranking),
                tuple(fact.id for fact in facts) if last else (),
                (f"page 1: {text}",) if text else (),
                decision=Decision("answer" if last else "retrieve", text or "enough"),
                seconds=0.5 * number,
            )
        )
    chosen = config or Config(rounds=max(3, rounds))
    reply = DraftAnswer(answer, tuple(f.id for f in facts), text or "as told", 0.5 + 0.05 * rounds)
    return Trajectory(
        question_id=question.id,
        question=" ".join(question.question.split()),
        documents={doc_id: {"sha256": "0" * 64, "pages": 15}},
        model="pagetrail/fake",
        plan=Plan("span", (question.question,), (question.question,)),
        rounds=tuple(made),
        facts=facts,
        reply=reply,
        stop="abstained" if answer == UNANSWERABLE else "answered",
        config=chosen.model_dump(),
        config_digest=chosen.digest,
        timings={"plan": 0.1, "total": 0.1 + sum(record.seconds for record in made)},
    )


def gold_regions(question: Question) -> list[EvidenceRegion]:
    """The gold regions, as a run that finds them has them."""
    return [EvidenceRegion(region.ref, region.bbox) for region in question.gold_regions]


def elsewhere(question: Question) -> list[EvidenceRegion]:
    """A region on the first gold page that holds nothing of the gold."""
    return [EvidenceRegion(question.gold_pages[0], BBox(0.0, 0.95, 0.2, 0.99))]


def make_rows(questions: Sequence[Question]) -> dict[str, str]:
    """A row a question, of every kind there is: right, wrong at each stage, abstained, failed, foreign."""
    rows: dict[str, str] = {}
    for place, question in enumerate(questions):
        regions = gold_regions(question)
        if not question.answerable:
            run = trajectory(question, UNANSWERABLE)
        elif place == 0:
            run = trajectory(question, question.answer, regions=regions, text=HOSTILE, rounds=2)
        elif place == 1:
            run = trajectory(question, "9,999", regions=elsewhere(question), rounds=3)
        elif place == 2:
            run = trajectory(question, UNANSWERABLE, rounds=2)
        elif place == 3:
            rows[question.id] = json.dumps(foreign(question), ensure_ascii=False)
            continue
        elif place == 4:
            rows[question.id] = json.dumps(
                {"question_id": question.id, "model": "x", "status": f"error: {HOSTILE}"}, ensure_ascii=False
            )
            continue
        elif place == 5:
            continue  # no row at all
        else:
            run = trajectory(question, question.answer, regions=regions, text=question.gold_facts[0].text)
        rows[question.id] = run.line()
    return rows


def foreign(question: Question) -> dict[str, Any]:
    """A row of someone else's system, without a trajectory."""
    region = question.gold_regions[0]
    citation = {
        "page": region.ref.page,
        "doc_page": "none",
        "bbox": region.bbox.as_list(),
        "sentence": HOSTILE,
        "is_normalized": True,
    }
    parsed = {
        "answer": f"{question.answer} {HOSTILE}",
        "reasoning": "",
        "citations": [citation, {"page": "x"}, "no citation"],
        "predicted_pages": [region.ref.page],
    }
    return {"question_id": question.id, "model": HOSTILE, "parsed": parsed, "model_raw": "", "status": "ok"}


def write_run(data: Path, out: Path, rows: Mapping[str, str], config: Config | None = None) -> Path:
    """A run folder as the runner leaves it."""
    questions = load("docscope", data)
    chosen = config or Config(name="fake")
    identity = Identity("docscope", data_digest(questions), chosen.model_dump())
    told = {
        "benchmark": {
            "name": "docscope",
            "split": None,
            "data": str(data),
            "pdfs": None,
            "questions": len(questions),
            "with_problems": 0,
        },
        "config": {"name": "fake", "digest": chosen.digest},
    }
    with open_run(out, identity) as folder:
        ids = [question.id for question in questions]
        folder.select(ids, ids)
        folder.begin({"workers": 1, "revision": "0123abc"}, told)
        for question_id, line in rows.items():
            folder.append(question_id, line.encode(), json.loads(line)["status"] != "ok")
        folder.end(asked=len(rows))
    return out
