"""Scoring: official and strict aggregates counted by hand, tables in every format, the command."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eval import smoke
from eval.benchmarks import BENCHMARKS, Question, load
from eval.comparing import measure, slice_tables, tables_of
from eval.rules import Rules
from eval.score import main
from eval.scoring import ScoredRun, score_rows
from eval.sources import run_source, score_source
from eval.tables import Cell, Column, Row, Table, render
from indexes.errors import InputError


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("smoke")
    smoke.write_benchmark(folder)
    return folder


@pytest.fixture(scope="module")
def questions(data: Path) -> list[Question]:
    return load("docscope", data)


def citation(page: int, bbox: list[float], sentence: str = "It says so") -> dict[str, Any]:
    return {"page": page, "doc_page": "1", "bbox": bbox, "sentence": sentence, "is_normalized": True}


def answered(
    question: Question, answer: str, citations: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    cited = citations or []
    parsed = {
        "answer": answer,
        "citations": cited,
        "predicted_pages": sorted({c["page"] for c in cited}),
        "has_answer_tag": True,
    }
    said = " ".join(c["sentence"] + "." for c in cited)
    raw = f"{said}\n<answer> {answer} </answer>"
    return {"question_id": question.id, "model_raw": raw, "parsed": parsed, "status": "ok"}


def perfect(question: Question) -> dict[str, Any]:
    cited = [
        citation(region.ref.page, region.bbox.as_list(), fact.text)
        for region, fact in zip(question.gold_regions, question.gold_facts, strict=True)
    ]
    return answered(question, question.answer, cited)


def error_row(question: Question) -> dict[str, Any]:
    return {"question_id": question.id, "status": "error: no such luck"}


def scored(questions: list[Question], rows: list[dict[str, Any]]) -> ScoredRun:
    found, strange, repeated = score_rows(questions, rows, Rules("docscope"))
    names = Rules("docscope").names
    return ScoredRun("run", "docscope", tuple(found), names, strange=tuple(strange), repeated=tuple(repeated))


def figure(run: ScoredRun, key: str, aggregate: str) -> Cell:
    (cell,) = [
        row.cells[key]
        for rows in measure(run).rows.values()
        for row in rows
        if row.aggregate == aggregate and key in row.cells
    ]
    return cell


def test_a_perfect_run_is_right_in_everything(questions: list[Question]) -> None:
    run = scored(questions, [perfect(q) for q in questions])
    for aggregate in ("official", "strict"):
        for key in ("accuracy", "page_f1", "region_strict_f1", "region_lenient_f1", "fact_consistency"):
            assert figure(run, key, aggregate).value == 1.0, (key, aggregate)


def test_errors_leave_official_denominators_and_count_as_wrong_in_strict_ones(
    questions: list[Question],
) -> None:
    rows = [perfect(q) for q in questions[:5]] + [error_row(q) for q in questions[5:7]]
    run = scored(questions, rows)  # three have no row at all, one of them is the unanswerable one
    official, strict = figure(run, "accuracy", "official"), figure(run, "accuracy", "strict")
    assert (official.value, official.n) == (1.0, 5)
    assert (strict.value, strict.n) == (0.5, 10)
    assert figure(run, "accuracy_unanswerable", "strict").value == 0.0
    assert figure(run, "page_f1", "official").n == 5
    assert figure(run, "page_f1", "strict").n == 9
    assert figure(run, "page_f1", "strict").value == pytest.approx(5 / 9)
    assert (run.count("failed"), run.count("missing")) == (2, 3)


def test_an_unanswerable_question_is_in_the_official_page_averages_only(questions: list[Question]) -> None:
    rows = [perfect(q) if q.answerable else answered(q, "9", [citation(3, [0, 0, 1, 1])]) for q in questions]
    run = scored(questions, rows)
    assert figure(run, "page_precision", "official").value == pytest.approx(0.9)
    assert figure(run, "page_precision", "strict").value == 1.0


def test_regions_and_facts_on_pages_not_cited_count_in_strict_recall_only(questions: list[Question]) -> None:
    rows = [perfect(q) for q in questions]
    rows[0] = answered(questions[0], "7,151", [citation(1, [0, 0, 1, 1])])
    run = scored(questions, rows)
    gold = sum(len(q.gold_regions) for q in questions)
    assert figure(run, "region_strict_recall", "official").value == 1.0
    assert figure(run, "region_strict_recall", "official").n == gold - 1
    assert figure(run, "region_strict_recall", "strict").value == pytest.approx((gold - 1) / gold)
    assert figure(run, "fact_consistency", "official").value == 1.0
    assert figure(run, "fact_consistency", "strict").value == pytest.approx((gold - 1) / gold)


def test_what_could_not_be_judged_is_unscored_and_neither_right_nor_wrong(questions: list[Question]) -> None:
    class Moody(Rules):
        def answer(self, question: Question, prediction: Any) -> Any:
            found = super().answer(question, prediction)
            return replace(found, score=None) if question.id == questions[0].id else found

        def facts(self, question: Question, prediction: Any) -> Any:
            found = super().facts(question, prediction)
            return dict.fromkeys(found) if question.id == questions[1].id else found

    found, _, _ = score_rows(questions, [perfect(q) for q in questions], Moody("docscope"))
    run = ScoredRun("run", "docscope", tuple(found), Moody("docscope").names)
    assert figure(run, "accuracy", "strict").n == 9
    assert (
        figure(run, "fact_consistency", "strict").n == len([f for q in questions for f in q.gold_facts]) - 2
    )
    assert run.unscored == [questions[0].id, questions[1].id]
    assert "2 unscored (smoke-01, smoke-02)" in tables_of([measure(run)])[0].notes[-1]


def test_of_several_rows_the_first_counts_and_strange_ones_are_listed(questions: list[Question]) -> None:
    rows = [perfect(questions[0]), error_row(questions[0]), {"question_id": "who?", "status": "ok"}]
    run = scored(questions[:1], rows)
    assert figure(run, "accuracy", "strict").value == 1.0
    assert (run.repeated, run.strange) == ((questions[0].id,), ("who?",))


def test_rows_without_trajectories_have_no_retrieval_figures(questions: list[Question]) -> None:
    run = scored(questions, [perfect(q) for q in questions])
    titles = [table.title for table in tables_of([measure(run)])]
    assert not any("retrieval" in title or "cost" in title or "round" in title for title in titles)


def test_a_trajectory_that_cannot_be_read_is_counted(questions: list[Question]) -> None:
    rows = [perfect(q) | {"trajectory": {"format": 99}} for q in questions]
    run = scored(questions, rows)
    assert "10 trajectories that cannot be read" in tables_of([measure(run)])[0].notes[-1]
    assert figure(run, "accuracy", "strict").value == 1.0


def test_two_runs_are_compared_on_the_questions_of_both(questions: list[Question]) -> None:
    good = scored(questions, [perfect(q) for q in questions])
    bad = scored(questions, [perfect(q) if i % 2 else error_row(q) for i, q in enumerate(questions)])
    table = tables_of([measure(bad), measure(good)])[-1]
    (row,) = [row for row in table.rows if row.name == "Accuracy"]
    cell = row.cells["difference_percent"]
    assert cell.value == pytest.approx(0.5) and cell.p is not None and cell.n == 10
    assert cell.low is not None and cell.low > 0


def test_published_rows_are_marked_and_have_no_denominators(questions: list[Question]) -> None:
    from eval.comparing import read_published

    run = measure(scored(questions, [perfect(q) for q in questions]))
    table = tables_of([run], read_published("docscope"))[0]
    (row,) = [row for row in table.rows if row.name.startswith("SimpleDoc")]
    assert row.aggregate == "published"
    assert row.cells["accuracy"] == Cell(0.505)


def test_slices_hold_every_question(questions: list[Question]) -> None:
    run = scored(questions, [perfect(q) for q in questions])
    tables = {table.title: table for table in slice_tables(run)}
    pages = tables["docscope: run by evidence pages"]
    assert sum(row.cells["accuracy"].n or 0 for row in pages.rows) == 10


# ---- the formats


TABLE = Table(
    "A_b",
    (Column("share", "Share | of"), Column("seconds", "Seconds", "seconds")),
    (Row("x & y", "strict", {"share": Cell(0.5, 4, 0.25, 0.75), "seconds": Cell(None, 0)}),),
    ("It is 50 % of all.",),
)


def test_markdown_has_a_line_a_row_with_denominators_and_intervals() -> None:
    lines = render([TABLE], "md").splitlines()
    assert lines[0] == "### A_b"
    assert r"Share \| of" in lines[2]
    assert [cell.strip() for cell in lines[4].split("|")[1:-1]] == [
        "x & y",
        "strict",
        "50.0 [25.0, 75.0] n=4",
        "- n=0",
    ]
    assert lines[-1] == "It is 50 % of all."


def test_csv_and_json_have_a_record_a_figure() -> None:
    first = next(csv.DictReader(io.StringIO(render([TABLE], "csv"))))
    assert (first["measure"], first["value"], first["n"], first["low"]) == ("share", "0.5", "4", "0.25")
    (table,) = json.loads(render([TABLE], "json"))
    assert table["figures"][1] == {
        "table": "A_b",
        "system": "x & y",
        "aggregate": "strict",
        "measure": "seconds",
        "value": None,
        "n": 0,
        "low": None,
        "high": None,
        "p": None,
    }


def test_latex_escapes_what_it_must() -> None:
    text = render([TABLE], "latex")
    assert r"\caption{A\_b. It is 50 \% of all.}" in text
    assert r"x \& y & strict & 50.0 {\scriptsize [25.0, 75.0]} {\scriptsize $n{=}4$} & -- \\" in text


def test_hostile_names_stay_texts_in_every_format() -> None:
    (row,) = TABLE.rows[:1]
    table = replace(TABLE, rows=(replace(row, name="=1+1|<b>\nx"),))
    assert r"| =1+1\|<b> x" in render([table], "md")
    assert r"=1+1\textbar{}\textless{}b\textgreater{} x &" in render([table], "latex")
    assert next(csv.DictReader(io.StringIO(render([table], "csv"))))["system"] == "'=1+1|<b>\nx"


# ---- the command


def make_run(folder: Path, data: Path, rows: list[dict[str, Any]]) -> Path:
    from eval.digest import data_digest
    from eval.identity import FORMAT

    folder.mkdir(parents=True)
    questions = load("docscope", data)
    told = {"name": "docscope", "data": str(data), "pdfs": None, "split": None}
    identity = {"benchmark": "docscope", "data": data_digest(questions), "config": {}}
    manifest = {"format": FORMAT, "identity": identity, "benchmark": told, "sittings": []}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "ids.txt").write_text("".join(f"{q.id}\n" for q in questions))
    (folder / "infer.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture
def run(tmp_path: Path, data: Path, questions: list[Question]) -> Path:
    return make_run(tmp_path / "run", data, [perfect(q) for q in questions[:8]])


def test_scoring_a_run_prints_tables_and_leaves_a_summary(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(run), "--published", "--slices"]) == 0
    text = capsys.readouterr().out
    assert "### docscope: answers" in text and "SimpleDoc" in text and "by evidence pages" in text
    assert "Regions scored by overlap (gold recall), in place of the paper's judge." in text
    summary = json.loads((run / "summary.json").read_text())
    assert summary["counts"]["asked"] == 10 and summary["counts"]["missing"] == 2
    (accuracy,) = [f for f in summary["figures"] if f["measure"] == "accuracy" and f["aggregate"] == "strict"]
    assert (accuracy["value"], accuracy["n"]) == (0.8, 10)


def test_only_the_questions_asked_for_count(run: Path) -> None:
    (run / "ids.txt").write_text("smoke-01\nsmoke-10\n")
    found = score_source(run_source(run))
    assert [one.outcome.id for one in found.scored] == ["smoke-01", "smoke-10"]
    assert found.count("missing") == 1
    assert len(found.strange) == 7


def test_anyones_predictions_are_scored_without_a_run(
    tmp_path: Path, data: Path, questions: list[Question], capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "theirs.jsonl"
    file.write_text("".join(json.dumps(perfect(q)) + "\n" for q in questions))
    options = ["--benchmark", "docscope", "--data", str(data), "--predictions", str(file), "--format", "csv"]
    assert main(options) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    (accuracy,) = [r for r in rows if (r["measure"], r["aggregate"]) == ("accuracy", "strict")]
    assert accuracy["system"] == "theirs" and accuracy["value"] == "1.0"


def test_runs_of_the_same_name_are_told_apart(
    tmp_path: Path, data: Path, questions: list[Question], capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [make_run(tmp_path / name / "run", data, [perfect(q) for q in questions]) for name in ("a", "b")]
    assert main([*map(str, paths)]) == 0
    assert f"{paths[1]} less {paths[0]}" in capsys.readouterr().out


def test_data_that_changed_or_are_gone_are_refused_in_one_line(run: Path, tmp_path: Path, data: Path) -> None:
    other = tmp_path / "other"
    smoke.write_benchmark(other)
    text = (other / "benchmark.json").read_text()
    (other / "benchmark.json").write_text(text.replace("7,151", "7,152"))
    with pytest.raises(InputError, match="holds other questions or gold than the run's data"):
        main([str(run), "--data", str(other)])
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["benchmark"]["data"] = str(tmp_path / "gone")
    (run / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="not at .*gone any more; name them with --data DIR"):
        main([str(run)])
    assert main([str(run), "--data", str(data)]) == 0


def test_wrong_options_are_one_line(run: Path, tmp_path: Path, data: Path) -> None:
    for options, message in (
        ([], "nothing to score"),
        ([str(tmp_path)], "no run there"),
        ([str(run), "--benchmark", "docscope"], "--benchmark goes with --predictions"),
        (["--predictions", "x.jsonl"], "needs --benchmark NAME and --data DIR"),
        ([str(run), "--format", "html"], "invalid choice: 'html'"),
        ([str(run), "--pdfs", str(tmp_path / "nowhere")], "nowhere: no such folder"),
        (
            ["--benchmark", "docscope", "--data", str(data), "--predictions", str(data)],
            "no infer.jsonl there; name a run folder or a file",
        ),
    ):
        with pytest.raises(InputError, match=message):
            main(options)
    assert not (data / "summary.json").exists()


def test_a_run_whose_folder_of_documents_is_gone_is_still_scored(run: Path, tmp_path: Path) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["benchmark"]["pdfs"] = str(tmp_path / "gone")
    (run / "manifest.json").write_text(json.dumps(manifest))
    assert run_source(run).pdfs is None


def test_damaged_lines_are_counted_beside_the_result(run: Path) -> None:
    with (run / "infer.jsonl").open("a") as file:
        file.write("[" * 100_000 + '\n{"question_id": "smoke-09", "sta')
    found = score_source(run_source(run))
    assert found.broken == 2 and found.count("missing") == 2


def test_scorers_load_no_model_library() -> None:
    import subprocess
    import sys

    heavy = "torch faiss pymupdf transformers langgraph onnxruntime"
    code = (
        "import sys, eval.score, eval.comparing, eval.rules, eval.summary, eval.benchmarks, eval.exports\n"
        f"found = sorted(set({heavy.split()!r}) & set(sys.modules))\n"
        "sys.exit(' '.join(found) or 0)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).stderr == b""


def mmlongbench(folder: Path, golds: list[tuple[str, str]], name: str = "mmlongbench-v1") -> list[Question]:
    rows = [
        {"doc_id": f"d{i % 2}.pdf", "question": f"Q{i}?", "answer": a, "answer_format": f}
        | {"doc_type": "x", "evidence_pages": "[1]", "evidence_sources": "[]"}
        for i, (a, f) in enumerate(golds)
    ]
    (folder / "samples.json").write_text(json.dumps(rows))
    return load(name, folder)


def test_mmlongbench_figures_are_those_of_the_public_aggregate(tmp_path: Path) -> None:
    from eval.metrics.mmlongbench import aggregate, score_answer

    golds = [("4", "Int"), ("12.5%", "Float"), ("red fox", "Str"), ("Not answerable", "None"), ("5", "Int")]
    preds = ["4", "13%", "red box", "Unanswerable", "Unanswerable"]
    questions = mmlongbench(tmp_path, golds)
    said = [answered(q, pred) for q, pred in zip(questions, preds, strict=True)]
    found, _, _ = score_rows(questions, said, Rules("mmlongbench-v1"))
    run = ScoredRun("run", "mmlongbench-v1", tuple(found), Rules("mmlongbench-v1").names)
    short = ["4", "13%", "red box", "Not answerable", "Not answerable"]
    samples = [
        {"answer": a, "pred": p, "score": score_answer(a, p, f)}
        for (a, f), p in zip(golds, short, strict=True)
    ]
    expected = aggregate(samples)
    assert figure(run, "accuracy", "official").value == pytest.approx(expected["accuracy"])
    assert figure(run, "answer_f1", "official").value == pytest.approx(expected["f1"])


GOLDS = [("4", "Int"), ("red fox", "Str"), ("Not answerable", "None"), ("5", "Int"), ("6", "Int")]


def half_answered(questions: list[Question]) -> list[dict[str, Any]]:
    """Two right, an abstention, a failed row; the last question has none."""
    said = [answered(q, a) for q, a in zip(questions, ["4", "red fox", "Unanswerable"], strict=False)]
    return [*said, error_row(questions[3])]


def official(name: str, questions: list[Question], rows: list[dict[str, Any]]) -> ScoredRun:
    found, _, _ = score_rows(questions, rows, Rules(name))
    return ScoredRun("run", name, tuple(found), Rules(name).names)


def test_of_mmlongbench_a_question_without_an_answer_is_not_right_as_its_scorer_counts(
    tmp_path: Path,
) -> None:
    from eval.metrics.mmlongbench import aggregate, aggregate_v2

    questions = mmlongbench(tmp_path, GOLDS)
    first = official("mmlongbench-v1", questions, half_answered(questions))
    preds = ["4", "red fox", "Not answerable", "Fail to answer", "Fail to answer"]
    samples = [
        {"answer": a, "pred": p, "score": float(a == p)} for (a, _), p in zip(GOLDS, preds, strict=True)
    ]
    expected = aggregate(samples)
    assert figure(first, "accuracy", "official") == figure(first, "accuracy", "strict")
    assert (figure(first, "accuracy", "official").value, expected["accuracy"]) == (0.6, 0.6)
    assert figure(first, "answer_f1", "official").value == pytest.approx(expected["f1"])
    second = official("mmlongbench-v2", questions, half_answered(questions))
    verdicts = [(True, False), (True, False), (True, True), (False, True), (False, True)]
    judged = [
        {"answer": a, "llm_judge": {"equivalent": same, "abstained": none}}
        for (a, _), (same, none) in zip(GOLDS, verdicts, strict=True)
    ]
    assert aggregate_v2(judged)["f1"] > expected["f1"], "an empty response abstains"
    assert figure(second, "answer_f1", "official").value == pytest.approx(aggregate_v2(judged)["f1"])
    assert figure(second, "answer_f1", "strict").value == pytest.approx(expected["f1"])


@pytest.mark.parametrize("name", sorted(BENCHMARKS))
def test_docscope_alone_leaves_a_question_without_an_answer_out(name: str, questions: list[Question]) -> None:
    rows = [perfect(questions[0]), error_row(questions[1])]
    found, _, _ = score_rows(questions[:2], rows, Rules(name))
    run = ScoredRun("run", name, tuple(found), Rules(name).names)
    assert figure(run, "accuracy", "official").n == (1 if name == "docscope" else 2)
    assert figure(run, "accuracy", "strict").n == 2 and figure(run, "page_f1", "official").n == 1


def test_what_is_unscored_is_in_no_figure_while_what_failed_is_not_right(tmp_path: Path) -> None:
    class Silent(Rules):
        def answer(self, question: Question, prediction: Any) -> Any:
            found = super().answer(question, prediction)
            return replace(found, score=None) if question.question == "Q0?" else found

    questions = mmlongbench(tmp_path, GOLDS)
    found, _, _ = score_rows(questions, half_answered(questions), Silent("mmlongbench-v2"))
    run = ScoredRun("run", "mmlongbench-v2", tuple(found), Silent("mmlongbench-v2").names)
    for aggregate in ("official", "strict"):
        assert (figure(run, "accuracy", aggregate).value, figure(run, "accuracy", aggregate).n) == (0.5, 4)
    assert run.unscored == [questions[0].id]


@pytest.mark.parametrize("name", ["mmlongbench-v1", "mmlongbench-v2"])
def test_an_exported_run_has_the_official_figures_of_the_run(tmp_path: Path, name: str) -> None:
    from eval.exports import from_row, missing, read_predictions, write_export
    from eval.scoring import score

    questions = mmlongbench(tmp_path, GOLDS, name)
    rows = half_answered(questions)
    run = official(name, questions, rows)
    predictions = {q.id: missing(q) for q in questions}
    predictions |= {q.id: from_row(q, row) for q, row in zip(questions, rows, strict=False)}
    assert write_export(name, questions, predictions, tmp_path / "out.json") == len(questions)
    back = read_predictions(name, tmp_path / "out.json", questions).predictions
    again = replace(run, scored=tuple(score(q, back[q.id], Rules(name)) for q in questions))
    for key in ("accuracy", "accuracy_answerable", "accuracy_unanswerable", "answer_f1"):
        assert figure(again, key, "official") == figure(run, key, "official"), key


def test_each_table_says_what_becomes_of_rows_without_an_answer(
    tmp_path: Path, questions: list[Question]
) -> None:
    asked = mmlongbench(tmp_path, GOLDS)
    run = official("mmlongbench-v1", asked, half_answered(asked))
    assert any("rows without an answer count as wrong" in note for note in tables_of([measure(run)])[0].notes)
    own = tables_of([measure(scored(questions, [perfect(questions[0])]))])[0].notes
    assert any("official: as the public scorers count; rows without an answer leave" in note for note in own)


@pytest.mark.parametrize(
    ("answer", "score", "abstained"),
    [("Unanswerable", 1.0, True), ("0", 1.0, False), ("None.", 1.0, False), ("3", 0.0, False)],
)
def test_by_rules_an_unanswerable_question_of_v2_admits_what_its_gold_names(
    tmp_path: Path, answer: str, score: float, abstained: bool
) -> None:
    (asked,) = mmlongbench(tmp_path, [("Not answerable or 0 or none", "None")], "mmlongbench-v2")
    (one,) = official("mmlongbench-v2", [asked], [answered(asked, answer)]).scored
    assert (one.outcome.score, one.outcome.abstained) == (score, abstained)
    plain = replace(asked, answer="Not answerable")
    (one,) = official("mmlongbench-v2", [plain], [answered(plain, answer)]).scored
    assert one.outcome.score == float(abstained)
