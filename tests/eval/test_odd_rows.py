"""Rows that no sound benchmark or run has: they are kept, counted and named; nothing ends in a traceback."""

import json
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from report_fakes import gold_regions, make_benchmark, trajectory, write_run

from agent.config import load_config
from agent.types import UNANSWERABLE
from eval import ablate as ablate_command
from eval import align as align_command
from eval import oracle as oracle_command
from eval import run as run_command
from eval import sample, smoke
from eval import score as score_command
from eval.ablate import ablate, make_plan
from eval.analyses.rounds import Journey, last_useful
from eval.benchmarks import load
from eval.benchmarks.reading import Keys, document_path
from eval.benchmarks.types import Question
from eval.comparing import measure, tables_of
from eval.digest import data_digest
from eval.exports import __main__ as export_command
from eval.exports import from_row, missing, write_export
from eval.identity import Identity
from eval.intervals import SAMPLES, draws, interval, ratio
from eval.job import Job
from eval.oracle import study
from eval.report import __main__ as report_command
from eval.report.load import Gold, load_run
from eval.rows import scan_rows
from eval.rules import Rules
from eval.runs import open_run, read_ids
from eval.scoring import score, score_rows
from eval.sources import Source, run_source, score_source
from eval.sweep import Setting, Sweep, read_sweep, write_sweep
from eval.trajectories import told
from indexes.errors import InputError


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


# ---- loaders


def test_a_copy_s_id_is_never_another_row_s_own() -> None:
    keys, problems = Keys(), []  # type: ignore[var-annotated]
    assert len({keys.take(key, problems) for key in ("a", "a", "a#2", "a", "a#2")}) == 5
    assert len(problems) == 3


def financebench(tmp_path: Path, *rows: dict[str, Any]) -> list[Question]:
    write_lines(tmp_path / "data/questions.jsonl", list(rows))
    return load("financebench", tmp_path / "data")


@pytest.mark.parametrize("name", ["a\nb", "a\rb", "a\u2028b", "", " ", "\ud800"])
def test_an_id_that_cannot_stand_on_a_line_of_its_own_is_mended_and_listed(tmp_path: Path, name: str) -> None:
    questions = financebench(
        tmp_path, {"financebench_id": name, "doc_name": "x"}, {"financebench_id": "z", "doc_name": "x"}
    )
    ids = [question.id for question in questions]
    assert any("id" in problem for problem in questions[0].problems)
    with open_run(tmp_path / "run", Identity("b", data_digest(questions), {})) as folder:
        folder.select(ids, ids)
    assert read_ids(tmp_path / "run") == ids and ids[1] == "z"


def test_a_row_without_a_question_or_an_answer_says_so_and_never_asks_for_none(tmp_path: Path) -> None:
    nothing = {"financebench_id": "r", "question": None, "answer": None}
    for question in financebench(tmp_path, {"financebench_id": "q", "doc_name": "x"}, nothing):
        assert (question.question, question.answer) == ("", "")
        assert {"question: expected a text, got None", "answer: expected a text, got None"} <= set(
            question.problems
        )


@pytest.mark.parametrize("name", ["中" * 200, "中" * 200 + "/x", "9" * 3000, "a\nb"])
def test_a_document_s_name_that_no_file_can_have_is_a_problem(tmp_path: Path, name: str) -> None:
    problems: list[str] = []
    path = document_path(tmp_path, name, ".pdf", problems)
    assert path.parent == tmp_path and not path.exists() and len(problems) == 1
    (tmp_path / "pdf_pngs").mkdir()
    row = {"question_id": "q", "doc_no": name, "question": "x", "answer": 5, "answer_format": "Integer"}
    write_lines(tmp_path / "LongDocURL.jsonl", [row])
    (question,) = load("longdocurl", tmp_path)
    assert any(problem.startswith("doc_no: expected a number") for problem in question.problems)


def test_regions_and_facts_of_one_name_are_two_and_counted_once_each(tmp_path: Path) -> None:
    data = make_benchmark(tmp_path, hostile=False)
    rows = json.loads((data / "benchmark.json").read_text())
    row = rows[1]
    assert len(row["evidences"]) == 2
    for item in row["evidences"]:
        item["local_id"] = "e1"
    for item in row["facts"]:
        item |= {"local_id": "f1", "evidence_local_id": "e1"}
    (data / "benchmark.json").write_text(json.dumps(rows))
    question = load("docscope", data)[1]
    assert [region.id for region in question.gold_regions] == ["e1", "e1#2"]
    assert [fact.id for fact in question.gold_facts] == ["f1", "f1#2"]
    run = trajectory(question, question.answer, regions=gold_regions(question), text="x")
    (scored,), _, _ = score_rows([question], [json.loads(run.line())], Rules("docscope"))
    assert sum(len(page.labels) for page in scored.pages) + scored.missed_regions == 2
    assert len(scored.verdicts) + scored.missed_facts == 2


# ---- rows of a run


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Question], dict[str, str]]:
    data = make_benchmark(tmp_path_factory.mktemp("data"), hostile=False)
    questions = load("docscope", data)
    rows = {
        q.id: trajectory(q, q.answer or UNANSWERABLE, regions=gold_regions(q), text="x").line()
        for q in questions
    }
    return data, questions, rows


def twice_retrieved(trajectory: dict[str, Any]) -> None:
    trajectory["rounds"][0]["retrieved"] *= 2


def endless_tokens(trajectory: dict[str, Any]) -> None:
    trajectory["usage"]["total_tokens"] = float("inf")


def no_time(trajectory: dict[str, Any]) -> None:
    trajectory["timings"]["total"] = float("nan")


def pages_in_words(trajectory: dict[str, Any]) -> None:
    trajectory["documents"][0]["pages"] = "many"


def no_confidence(trajectory: dict[str, Any]) -> None:
    trajectory["answer"]["confidence"] = float("nan")


@pytest.mark.parametrize("spoil", [twice_retrieved, endless_tokens, no_time, pages_in_words, no_confidence])
def test_a_trajectory_that_cannot_be_is_counted_as_unread_and_its_answer_still_scored(
    made: tuple[Path, list[Question], dict[str, str]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    spoil: Any,
) -> None:
    data, questions, rows = made
    row = json.loads(rows[questions[0].id])
    row["trajectory"]["documents"] = [{"doc": "report", "pages": 15}]
    assert told(row, questions[0].documents) is not None
    spoil(row["trajectory"])
    assert told(row, questions[0].documents) is None
    run = write_run(data, tmp_path / "run", {**rows, questions[0].id: json.dumps(row)})
    assert score_command.main([str(run), "--format", "json"]) == 0
    json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    summary = json.loads((run / "summary.json").read_text())
    assert summary["counts"]["unread_trajectories"] == 1 and summary["counts"]["ok"] == 10


def test_of_two_rows_for_a_question_the_first_counts_everywhere(
    made: tuple[Path, list[Question], dict[str, str]], tmp_path: Path
) -> None:
    data, questions, rows = made
    run = write_run(data, tmp_path / "run", rows)
    second = json.loads(rows[questions[0].id]) | {"model": "a later one", "status": "error: late"}
    with (run / "infer.jsonl").open("a") as file:
        file.write(json.dumps(second) + "\n")
    entries, damaged = scan_rows(run / "infer.jsonl")
    assert damaged == 1 and not entries[questions[0].id].failed
    loaded = load_run(run, Gold())
    assert loaded.run.repeated == (questions[0].id,)
    shown = loaded.entries()[0]
    assert shown.row is not None and shown.row["status"] == "ok" and not shown.outcome.failed


def test_a_run_that_lost_its_ids_or_a_part_of_its_manifest_is_refused_in_a_line(
    made: tuple[Path, list[Question], dict[str, str]], tmp_path: Path
) -> None:
    data, _, rows = made
    run = write_run(data, tmp_path / "run", rows)
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "ids.txt").unlink()
    with pytest.raises(InputError, match=r"no ids.txt there.*python -m eval.run"):
        run_source(run)
    (run / "ids.txt").write_text("".join(f"{name}\n" for name in rows))
    (run / "manifest.json").write_text(json.dumps({k: v for k, v in manifest.items() if k != "config"}))
    assert ("Config", "not told") in load_run(run, Gold()).facts()


def test_a_box_with_what_is_no_number_is_no_box(made: tuple[Path, list[Question], dict[str, str]]) -> None:
    _, questions, rows = made
    row = json.loads(rows[questions[0].id])
    assert from_row(questions[0], row).boxes
    for citation in row["parsed"]["citations"]:
        citation["bbox"][0] = float("nan")
    got = from_row(questions[0], row)
    assert got.boxes == () and got.dropped == len(row["parsed"]["citations"])


def test_a_fact_of_a_round_that_a_run_did_not_take_is_no_reason_to_fail(
    made: tuple[Path, list[Question], dict[str, str]],
) -> None:
    _, questions, rows = made
    row = json.loads(rows[questions[0].id])
    row["trajectory"]["facts"][0]["round"] = 7
    found = told(row, questions[0].documents)
    assert found is not None
    journey = Journey("q", "d", frozenset(), found.rounds, found.useful)
    assert sum(last_useful([journey], ["q"]).answer.values()) == 1


def test_of_xl_docbench_a_question_without_an_answer_is_wrong_officially_too(tmp_path: Path) -> None:
    rows = [
        {
            "question_id": f"q{i}",
            "question": "How many?",
            "answer": {"value": "5", "format": "Int", "verification_rule": "numeric"},
            "document": {"document_id": "d", "evidence_pages": [1]},
            "metadata": {"is_unanswerable": False},
        }
        for i in range(4)
    ]
    write_lines(tmp_path / "qa_single_doc.jsonl", rows)
    write_lines(tmp_path / "theirs.jsonl", [{"question_id": "q0", "prediction": "5"}])
    run = score_source(Source(tmp_path / "theirs.jsonl", "xldocbench", tmp_path))
    (official, strict) = measure(run).rows["answers"]
    for row in (official, strict):
        for key in ("accuracy", "token_f1"):
            assert (row.cells[key].value, row.cells[key].n) == (0.25, 4), row.aggregate
    assert any("count as wrong" in note for note in tables_of([measure(run)])[0].notes)


# ---- exports, sweeps, intervals


def test_a_row_without_its_document_s_name_is_exported_under_the_name_it_has_here(tmp_path: Path) -> None:
    (tmp_path / "samples.json").write_text(json.dumps([{"question": "What?", "answer": "x"}]))
    (question,) = load("mmlongbench-v2", tmp_path)
    given = replace(missing(question), text="x", answer="x", failure=None)
    assert write_export("mmlongbench-v2", [question], {question.id: given}, tmp_path / "out.json") == 1
    (row,) = json.loads((tmp_path / "out.json").read_text())
    assert row["doc_id"] == question.documents[0].name


@pytest.mark.parametrize(
    "settings",
    [[], [{"name": "k=1", "folder": "k-1", "values": {"k": 1}, "long": "k-2"}]],
)
def test_a_sweep_of_nothing_or_of_runs_that_it_does_not_have_is_refused(
    tmp_path: Path, settings: list[Any]
) -> None:
    whole = {"format": 1, "kind": "ablation", "title": "t", "note": "", "settings": settings}
    (tmp_path / "sweep.json").write_text(json.dumps(whole))
    with pytest.raises(InputError, match="no sweep of this version"):
        read_sweep(tmp_path)


def test_intervals_over_thousands_of_documents_take_little_memory_and_are_the_same() -> None:
    groups = 6000
    sums = np.column_stack([np.arange(groups) % 2, np.ones(groups)]).astype(np.float64)
    draws.cache_clear()
    tracemalloc.start()
    found = interval(sums, ratio)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100 * 2**20
    plain = np.random.default_rng(0).multinomial(groups, np.full(groups, 1 / groups), size=SAMPLES)
    assert found == pytest.approx(tuple(np.quantile((plain @ sums)[:, 0] / groups, [0.025, 0.975])))


def test_a_missing_answer_scores_as_missing_whatever_its_question_is_like(tmp_path: Path) -> None:
    (question,) = financebench(tmp_path, {"financebench_id": "q"})
    assert score(question, missing(question), Rules("financebench")).state == "missing"


# ---- commands


@pytest.mark.parametrize(
    "text", ["[]\n", "5\n", "[" * 200_000, '{"question_id": "q", "trajectory": 5}\n', ""]
)
def test_a_file_that_is_no_answer_is_refused_in_a_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "answer.json"
    file.write_text(text)
    with pytest.raises(InputError, match=r"answer.json: (no answer of|is empty)"):
        report_command.main(["--trajectory", str(file)])


def test_what_is_named_by_nothing_is_written_nowhere(
    made: tuple[Path, list[Question], dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, _, rows = made
    run = write_run(data, tmp_path / "run", rows)
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    common = ["--benchmark", "docscope", "--data", str(data), "--out", ""]
    for command, arguments in (
        (run_command.main, common),
        (ablate_command.main, [*common, "--sweep", "k=1"]),
        (oracle_command.main, common),
        (export_command.main, [str(run), "--out", ""]),
    ):
        with pytest.raises(InputError, match="--out: an empty name"):
            command(arguments)
    for module in (sample, smoke):
        monkeypatch.setattr(sys, "argv", ["command", ""])
        with pytest.raises(InputError, match="expected the"):
            module.main()
    assert not list(here.iterdir())


def test_a_sweep_without_a_question_or_over_a_run_leaves_no_trace(
    made: tuple[Path, list[Question], dict[str, str]], tmp_path: Path
) -> None:
    data, _, rows = made
    run = write_run(data, tmp_path / "run", rows)
    common = ["--benchmark", "docscope", "--data", str(data), "--quiet"]
    for command, more in ((ablate_command.main, ["--sweep", "k=1"]), (oracle_command.main, [])):
        with pytest.raises(InputError, match="holds a run and no sweep"):
            command([*common, "--out", str(run), *more])
    (tmp_path / "ids").write_text("\n")
    new = ["--out", str(tmp_path / "new")]
    with pytest.raises(InputError, match="no question to ask"):
        ablate_command.main([*common, *new, "--sweep", "k=1", "--ids", str(tmp_path / "ids")])
    with pytest.raises(InputError, match="--settings: none"):
        oracle_command.main([*common, *new, "--settings", ","])
    assert not (run / "sweep.json").exists() and not (tmp_path / "new").exists()


def test_a_study_is_not_gone_on_with_over_fewer_questions_as_settings_would_not_compare(
    made: tuple[Path, list[Question], dict[str, str]], tmp_path: Path
) -> None:
    data, questions, rows = made
    plan = make_plan(load_config("cpu"), {"k": (4,)}, {})
    write_run(data, tmp_path / "sweep/k-4", rows, plan.configs["k-4"])
    write_sweep(tmp_path / "sweep", plan.sweep)
    with pytest.raises(InputError, match="k-4 was asked 8 questions more; give the same"):
        ablate(Job("docscope", data, tmp_path / "sweep", limit=2), plan)
    write_run(data, tmp_path / "study/agent", rows, load_config("cpu"))
    write_sweep(tmp_path / "study", Sweep("oracle", "t", (Setting("agent", "agent", {"setting": "agent"}),)))
    with pytest.raises(InputError, match="agent was asked 1 questions more; give the same"):
        study(Job("docscope", data, tmp_path / "study"), ["agent", "closed-book"])
    assert not (tmp_path / "study/closed-book").exists()
    assert len([q for q in questions if q.answerable]) == 9


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        (align_command.main, ["--seed", "-1"]),
        (align_command.main, ["--resamples", "10000000000"]),
        (align_command.main, ["--resamples", "0"]),
        (score_command.main, ["--judge-workers", "0"]),
    ],
)
def test_numbers_that_cannot_be_are_refused_in_a_line(
    tmp_path: Path, command: Any, arguments: list[str]
) -> None:
    item = {"id": "a", "stage": "answer", "human": "wrong", "scores": {"iou": 0.5}}
    write_lines(tmp_path / "labels.jsonl", [item, item | {"id": "b", "human": "correct"}])
    with pytest.raises(InputError, match=f"{arguments[0]} {arguments[1]}: expected"):
        command([str(tmp_path / "labels.jsonl"), *arguments])
