"""The runner: rows that survive kills, workers that may die, folders that are refused."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from runner_fakes import HERE, WORKER, write_benchmark

from eval import run as run_module
from eval.benchmarks import GoldFact, GoldRegion, Question
from eval.digest import data_digest
from eval.identity import Identity, read_manifest
from eval.job import Job
from eval.rows import scan_rows
from eval.run import Outcome, run
from eval.runs import open_run, read_ids
from indexes.errors import InputError
from indexes.types import BBox, PageRef

PLAIN = [("a", "what?"), ("b", "what?"), ("a", "and what?"), ("c", "what?"), ("a", "and then?")]


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    monkeypatch.setenv("FAKE_NOTES", str(folder))
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_benchmark(tmp_path / "data", PLAIN)


def go(data: Path, out: Path, **changes: Any) -> Outcome:
    return run(
        Job(
            **{
                "benchmark": "financebench",
                "data": data,
                "out": out,
                "workers": 2,
                "worker": WORKER,
                **changes,
            }
        )
    )


def rows_of(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "infer.jsonl").read_text().splitlines()]


def asked(notes: Path) -> list[str]:
    return (notes / "asked.txt").read_text().split()


def test_a_run_leaves_its_rows_in_the_benchmarks_order_with_config_manifest_and_log(
    data: Path, notes: Path, tmp_path: Path
) -> None:
    outcome = go(data, tmp_path / "run")
    assert outcome == Outcome(asked_for=5, before=0, new=5, failed=0, broken=5)  # no document is there
    rows = rows_of(tmp_path / "run")
    assert [row["question_id"] for row in rows] == ["q0", "q1", "q2", "q3", "q4"]
    assert [row["parsed"]["answer"] for row in rows] == ["a.pdf", "b.pdf", "a.pdf", "c.pdf", "a.pdf"]
    assert read_ids(tmp_path / "run") == ["q0", "q1", "q2", "q3", "q4"]
    manifest = read_manifest(tmp_path / "run")
    assert manifest["benchmark"]["name"] == "financebench"
    assert manifest["config"]["name"] == "cpu"
    assert manifest["started"] <= manifest["ended"]
    (sitting,) = manifest["sittings"]
    assert sitting["asked"] == 5 and sitting["workers"] == 2
    assert {"versions", "revision", "host"} <= set(sitting)
    assert sitting["prompts"] == {"read": "1a2b"}
    assert "k: 4" in (tmp_path / "run/config.yaml").read_text()
    log = (tmp_path / "run/log.txt").read_text()
    assert "opened a.pdf" in log and "problem of q0: a.pdf: no such document" in log


def test_each_document_is_opened_once_where_nobody_needs_help(
    data: Path, notes: Path, tmp_path: Path
) -> None:
    go(data, tmp_path / "run", workers=1)
    log = (tmp_path / "run/log.txt").read_text()
    assert [log.count(f"opened {name}.pdf") for name in "abc"] == [1, 1, 1]


def test_a_second_start_asks_nothing_and_changes_no_row(data: Path, notes: Path, tmp_path: Path) -> None:
    go(data, tmp_path / "run")
    before = (tmp_path / "run/infer.jsonl").read_bytes()
    assert go(data, tmp_path / "run") == Outcome(5, 5, 0, failed=0, broken=5)
    assert (tmp_path / "run/infer.jsonl").read_bytes() == before
    assert Counter(asked(notes)) == dict.fromkeys(["q0", "q1", "q2", "q3", "q4"], 1)
    assert len(read_manifest(tmp_path / "run")["sittings"]) == 2


def test_a_limit_is_taken_up_by_a_longer_run(data: Path, notes: Path, tmp_path: Path) -> None:
    assert go(data, tmp_path / "run", limit=2).new == 2
    assert read_ids(tmp_path / "run") == ["q0", "q1"]
    assert go(data, tmp_path / "run", ids=["q3"]).new == 1
    assert read_ids(tmp_path / "run") == ["q0", "q1", "q3"]
    assert go(data, tmp_path / "run").new == 2
    assert len(asked(notes)) == 5


def test_an_id_that_no_question_has_is_named(data: Path, notes: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no question has the id 'q03'; did you mean 'q[03]'"):
        go(data, tmp_path / "run", ids=["q03"])


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_a_torn_last_line_is_taken_off_and_its_question_asked_again(
    data: Path, notes: Path, tmp_path: Path, cut: int
) -> None:
    go(data, tmp_path / "run")
    path = tmp_path / "run/infer.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    assert go(data, tmp_path / "run") == Outcome(5, 4, 1, failed=0, broken=5)
    assert path.read_bytes() == whole
    assert Counter(asked(notes))["q4"] == 2


def test_damage_in_the_middle_and_repeated_rows_are_taken_out(
    data: Path, notes: Path, tmp_path: Path
) -> None:
    go(data, tmp_path / "run")
    path = tmp_path / "run/infer.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"\0\0\0\n" + lines[2] + lines[2] + lines[3] + lines[4])
    assert go(data, tmp_path / "run").new == 1
    assert path.read_bytes() == b"".join(lines)


def test_a_question_that_fails_or_raises_leaves_a_row_with_the_reason(notes: Path, tmp_path: Path) -> None:
    data = write_benchmark(tmp_path / "data", [("a", "fails"), ("a", "raises"), ("a", "what?")])
    assert go(data, tmp_path / "run").failed == 2
    rows = rows_of(tmp_path / "run")
    assert rows[0]["status"] == "error: the reader fails"
    assert rows[1]["status"] == "error: ValueError: no such thing as this"
    assert "parsed" not in rows[0] and "parsed" not in rows[1]
    assert rows[2]["status"] == "ok"
    assert "failed q1: ValueError" in (tmp_path / "run/log.txt").read_text()


def test_failed_questions_are_asked_again_only_on_demand(notes: Path, tmp_path: Path) -> None:
    data = write_benchmark(tmp_path / "data", [("a", "fails once"), ("a", "what?")])
    assert go(data, tmp_path / "run").failed == 1
    assert go(data, tmp_path / "run").new == 0
    assert go(data, tmp_path / "run", retry_failed=True) == Outcome(2, 1, 1, failed=0, broken=2)
    assert [row["status"] for row in rows_of(tmp_path / "run")] == ["ok", "ok"]
    assert Counter(asked(notes)) == {"q0": 2, "q1": 1}


def test_a_bad_document_fails_its_questions_and_no_others(notes: Path, tmp_path: Path) -> None:
    questions = [
        ("broken", "what?"),
        ("a", "what?"),
        ("killer", "what?"),
        ("broken", "and?"),
        ("killer", "and?"),
    ]
    data = write_benchmark(tmp_path / "data", questions)
    assert go(data, tmp_path / "run").failed == 4
    status = {row["question_id"]: row["status"] for row in rows_of(tmp_path / "run")}
    assert status["q1"] == "ok"
    assert status["q0"] == status["q3"] == "error: broken.pdf: no PDF"
    assert status["q2"] == status["q4"] == "error: the worker process died (exit code 9)"


def test_a_document_that_is_never_open_fails_its_questions_and_the_run_goes_on(
    notes: Path, tmp_path: Path
) -> None:
    questions = [("endless", "what?"), ("a", "what?"), ("endless", "and?"), ("b", "what?")]
    data = write_benchmark(tmp_path / "data", questions)
    assert go(data, tmp_path / "run", open_seconds=1.0).failed == 2
    status = [row["status"] for row in rows_of(tmp_path / "run")]
    assert status[0] == status[2] == "error: endless.pdf not open after 1 seconds"
    assert status[1] == status[3] == "ok"
    assert "endless.pdf not open after 1 seconds (opening q" in (tmp_path / "run/log.txt").read_text()


def test_a_document_may_take_longer_than_a_question(
    notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "question_limit", lambda config: 0.2)
    data = write_benchmark(tmp_path / "data", [("late", "what?")])
    assert go(data, tmp_path / "run", workers=1).failed == 0


def test_a_question_whose_worker_dies_is_tried_once_more(notes: Path, tmp_path: Path) -> None:
    data = write_benchmark(
        tmp_path / "data", [("a", "crashes"), ("a", "dies once"), ("a", "what?"), ("b", "what?")]
    )
    assert go(data, tmp_path / "run").failed == 1
    rows = rows_of(tmp_path / "run")
    assert rows[0]["status"] == "error: the worker process died (exit code 7)"
    assert [row["status"] for row in rows[1:]] == ["ok"] * 3
    assert Counter(asked(notes)) == {"q0": 2, "q1": 2, "q2": 1, "q3": 1}


def test_workers_that_cannot_start_end_the_run_in_one_line(data: Path, notes: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"died \(exit code 3\) at its start 2 times; .*log.txt"):
        go(data, tmp_path / "run", worker=(*WORKER, "dies"))
    assert go(data, tmp_path / "run").new == 5


def test_a_folder_of_another_config_or_of_other_data_is_refused(
    data: Path, notes: Path, tmp_path: Path
) -> None:
    go(data, tmp_path / "run", limit=1)
    config = tmp_path / "other.yaml"
    config.write_text("k: 7\n")
    with pytest.raises(InputError, match=r"a run of another config \(k was 4 and is now 7\); name another"):
        go(data, tmp_path / "run", config=config)
    other = write_benchmark(tmp_path / "other", [("a", "something else?"), *PLAIN[1:]])
    with pytest.raises(InputError, match="a run on other data"):
        go(other, tmp_path / "run")


def test_a_run_is_not_taken_up_where_an_answer_got_another_format(notes: Path, tmp_path: Path) -> None:
    row = {"doc_id": "a.pdf", "doc_type": "t", "question": "what?", "answer": "5", "evidence_pages": "[1]"}
    samples = [row | {"evidence_sources": "[]", "answer_format": "Int"}]
    (tmp_path / "samples.json").write_text(json.dumps(samples))
    assert go(tmp_path, tmp_path / "run", benchmark="mmlongbench-v1").new == 1
    samples[0]["answer_format"] = "Str"
    (tmp_path / "samples.json").write_text(json.dumps(samples))
    with pytest.raises(InputError, match="a run on other data"):
        go(tmp_path, tmp_path / "run", benchmark="mmlongbench-v1")


CHANGES: dict[str, Any] = {
    "id": "q9",
    "question": "which?",
    "documents": (Path("b.pdf"),),
    "answer": "6",
    "answer_format": "Str",
    "answerable": False,
    "gold_pages": (PageRef("a", 4),),
    "gold_regions": (GoldRegion("e1", PageRef("a", 3), BBox(0, 0, 1, 1), "text"),),
    "gold_facts": (GoldFact("f1", "e2", "It is 5."),),
}
LEFT_ALONE = {"slices", "problems", "split", "row"}
"""Breakdowns of tables, what is on disk, and the row that all else was read from."""


@pytest.mark.parametrize("name", sorted(field.name for field in fields(Question)))
def test_whatever_decides_a_score_makes_other_data(name: str) -> None:
    three = PageRef("a", 3)
    region = GoldRegion("e1", three, BBox(0, 0, 1, 1), "table")
    whole = Question(
        "q1", "what?", (Path("a.pdf"),), "5", "Int", (three,), True,
        gold_regions=(region,), gold_facts=(GoldFact("f1", "e1", "It is 5."),),
    )  # fmt: skip
    if name in LEFT_ALONE:
        changed: Any = {"slices": {"x": ("y",)}, "problems": ("p",), "split": "dev", "row": {"a": 1}}[name]
        assert data_digest([replace(whole, **{name: changed})]) == data_digest([whole])
    else:
        assert data_digest([replace(whole, **{name: CHANGES[name]})]) != data_digest([whole])


def test_a_folder_that_holds_something_else_is_left_alone(data: Path, notes: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/thesis.tex").write_text("mine")
    with pytest.raises(InputError, match=r"holds thesis.tex and no run"):
        go(data, tmp_path / "run")
    assert [file.name for file in (tmp_path / "run").iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    "manifest",
    [
        "[" * 100_000,
        '{"format": 2, "identity": {}, "sittings": []}',
        '{"format": 2, "identity": {"benchmark": "b", "data": "d", "config": 5}, "sittings": []}',
        '{"format": 2, "identity": {"benchmark": "b", "data": "d", "config": {}}, "sittings": [3]}',
        '{"format": 2, "identity": {"benchmark": "b", "data": "d", "config": {}}, "sittings": [],'
        ' "benchmark": {"name": "b", "data": 7, "pdfs": null, "split": null}}',
        '{"format": 1, "identity": {"benchmark": "b", "data": "d", "config": {}}, "sittings": []}',
    ],
)
def test_a_manifest_that_cannot_be_is_refused_in_one_line(
    data: Path, notes: Path, tmp_path: Path, manifest: str
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/manifest.json").write_text(manifest)
    with pytest.raises(InputError, match=r"manifest.json: (no manifest of|cannot be read)"):
        go(data, tmp_path / "run")


def test_lines_nested_without_end_and_ids_that_are_no_text_do_not_stop_a_run_unexplained(
    data: Path, notes: Path, tmp_path: Path
) -> None:
    go(data, tmp_path / "run", limit=1)
    with (tmp_path / "run/infer.jsonl").open("a") as file:
        file.write("[" * 100_000 + "\n")
    assert go(data, tmp_path / "run", limit=2).new == 1 and len(rows_of(tmp_path / "run")) == 2
    (tmp_path / "run/ids.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="ids.txt: cannot be read"):
        go(data, tmp_path / "run")


def test_rows_that_nobody_answers_for_are_left_alone(data: Path, notes: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/infer.jsonl").write_text('{"question_id": "q0", "status": "ok"}\n')
    with pytest.raises(InputError, match="holds rows without a manifest.json"):
        go(data, tmp_path / "run")


def test_the_data_may_move_and_a_missing_document_may_come(data: Path, notes: Path, tmp_path: Path) -> None:
    go(data, tmp_path / "run", limit=1)
    (data / "pdfs/a.pdf").write_bytes(b"%PDF-1.4\n")
    assert go(data.rename(tmp_path / "moved"), tmp_path / "run").new == 4


def test_a_row_that_does_not_fit_on_the_disk_leaves_nothing_of_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_run(tmp_path / "run", Identity("b", "d", {})) as folder:
        folder.write_manifest()
        folder.append("q0", b'{"question_id": "q0", "status": "ok"}', failed=False)
        real, calls = os.write, []

        def full(handle: int, data: Any) -> int:
            calls.append(handle)
            if len(calls) == 2:
                raise OSError(errno.ENOSPC, "no space left on device")
            return real(handle, bytes(data)[:10])

        with monkeypatch.context() as patch, pytest.raises(InputError, match="no space left to write"):
            patch.setattr(os, "write", full)
            folder.append("q1", b'{"question_id": "q1", "status": "ok"}', failed=False)
        folder.append("q2", b'{"question_id": "q2", "status": "ok"}', failed=False)
    assert [row["question_id"] for row in rows_of(tmp_path / "run")] == ["q0", "q2"]


# ---- kills


def start(data: Path, out: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, str(HERE), "run", str(data), str(out)],
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def wait_for(condition: Any, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.005)


def has_lines(path: Path, least: int) -> bool:
    return path.exists() and path.read_bytes().count(b"\n") >= least


def children(pid: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(stat.parent.name))
        except (OSError, ValueError):
            continue
    return found


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc here")


@needs_proc
def test_a_run_killed_again_and_again_equals_an_undisturbed_one(notes: Path, tmp_path: Path) -> None:
    questions = [(f"d{i % 4}", f"slow {i}") for i in range(40)]
    data = write_benchmark(tmp_path / "data", questions)
    go(data, tmp_path / "undisturbed")
    (notes / "asked.txt").unlink()
    rows = tmp_path / "run/infer.jsonl"
    for kill in range(5):
        process = start(data, tmp_path / "run")
        wait_for(partial(has_lines, rows, 6 * (kill + 1)))
        if kill % 2:
            victims = children(process.pid)
            os.kill(victims[0], signal.SIGKILL)
            wait_for(partial(has_lines, rows, 6 * (kill + 1) + 2))
        process.kill()
        process.communicate()
    done, damaged = scan_rows(rows)
    assert len(done) < 40 and damaged <= 1
    final = start(data, tmp_path / "run")
    assert final.communicate()[1] == b"" and final.returncode == 0
    assert rows.read_bytes() == (tmp_path / "undisturbed/infer.jsonl").read_bytes()
    again = Counter(asked(notes))
    assert set(again) == {f"q{i}" for i in range(40)}
    assert sum(again.values()) <= 40 + 7 * 2, "only what was under way at a kill may be asked again"


@needs_proc
def test_workers_die_with_the_runner(notes: Path, tmp_path: Path) -> None:
    data = write_benchmark(tmp_path / "data", [("a", "forever"), ("b", "forever")])
    process = start(data, tmp_path / "run")
    wait_for(lambda: (notes / "asked.txt").exists() and len(asked(notes)) == 2)
    workers = children(process.pid)
    assert len(workers) == 2
    process.kill()
    process.communicate()
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers), 10)


def test_ctrl_c_ends_in_one_line_and_the_run_goes_on_later(notes: Path, tmp_path: Path) -> None:
    data = write_benchmark(tmp_path / "data", [("a", f"slow {i}") for i in range(40)])
    process = start(data, tmp_path / "run")
    wait_for(partial(has_lines, tmp_path / "run/infer.jsonl", 3))
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert errors.decode().splitlines() == [
        "interrupted: what was finished is cached; run the same command to go on"
    ]
    assert read_manifest(tmp_path / "run")["ended"] is None
    assert go(data, tmp_path / "run").before >= 3
    assert read_manifest(tmp_path / "run")["ended"] is not None


def test_two_runs_in_one_folder_at_once_are_refused(notes: Path, tmp_path: Path) -> None:
    data = write_benchmark(tmp_path / "data", [("a", "forever")])
    process = start(data, tmp_path / "run")
    try:
        wait_for(lambda: (notes / "asked.txt").exists())
        with pytest.raises(InputError, match="another run is at it"):
            go(data, tmp_path / "run")
    finally:
        process.kill()
        process.communicate()


def test_a_question_that_takes_forever_is_given_up(
    notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "question_limit", lambda config: 1.0)
    data = write_benchmark(tmp_path / "data", [("a", "forever"), ("a", "what?")])
    assert go(data, tmp_path / "run").failed == 1
    assert rows_of(tmp_path / "run")[0]["status"] == "error: gave up after 1 seconds"


def test_a_model_of_its_own_is_loaded_by_one_worker_alone() -> None:
    from agent.config import Config, Endpoint

    many = os.cpu_count() or 1
    assert run_module.default_workers(Config()) == many
    assert run_module.default_workers(Config(encoder="colqwen", encoder_model="m")) == 1
    assert run_module.default_workers(Config(reader="qwen", reader_model="m")) == 1
    served = Config(reader="chat", reader_model="m", endpoint=Endpoint(base_url="http://127.0.0.1:1"))
    assert run_module.default_workers(served) == many


# ---- the command


def test_wrong_options_are_one_line(data: Path, notes: Path, tmp_path: Path) -> None:
    base = ["--data", str(data), "--out", str(tmp_path / "run")]
    for options, message in (
        (["--benchmark", "financebanch"], "did you mean financebench"),
        (["--benchmark", "financebench", "--limit", "0"], "--limit 0: expected at least 1"),
        (["--benchmark", "financebench", "--open-seconds", "0"], "--open-seconds 0: expected at least 1"),
        (["--benchmark", "financebench", "--ids", "nowhere.txt"], "nowhere.txt: cannot be read"),
        (["--benchmark", "financebench", "--config", "gpu"], "config 'gpu' is unknown"),
        (["--benchmark", "financebench", "--split", "dev"], "no split 'dev'"),
        (["--benchmark", "financebench", "--pdfs", "nowhere"], "nowhere: no such folder; --pdfs names"),
    ):
        with pytest.raises(InputError, match=message):
            run_module.main([*options, *base])
    assert not (tmp_path / "run").exists()
