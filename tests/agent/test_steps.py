"""A run that is killed goes on where it was; what it leaves behind never misleads another."""

import dataclasses
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import typing
from pathlib import Path

import pytest
from agent_fakes import DOC, FakeDocument, FakeRetriever, ScriptedReader, make_run, quoting, saying

from agent.graph import ask
from agent.state import STORED, State
from agent.steps import kept_steps, steps_file
from agent.trajectory import RoundRecord
from agent.types import Decision, EvidenceRegion, Fact, FactDraft
from indexes.errors import InputError
from indexes.types import BBox, PageRef

SCRIPT = Path(__file__).with_name("broken_off.py")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PAGETRAIL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def start(log: Path, *dies: int) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, str(SCRIPT), str(log), *map(str, dies)], capture_output=True, text=True, check=False
    )


def timeless(value):
    if isinstance(value, dict):
        return {k: timeless(v) for k, v in value.items() if k not in ("seconds", "timings", "watched")}
    return [timeless(v) for v in value] if isinstance(value, list) else value


def left(cache: Path) -> list[str]:
    return [file.name for file in cache.rglob("*") if file.is_file() and "runs" in file.parts]


def test_a_run_killed_in_round_3_goes_on_in_round_3_and_ends_as_if_nothing_had_been(
    tmp_path: Path, cache: Path
) -> None:
    killed = start(tmp_path / "log", 3)
    assert killed.returncode == -signal.SIGKILL and killed.stdout == "" and left(cache)
    calls = (tmp_path / "log").read_text().split("\n")
    assert calls[:-1] == ["plan", "read 1", "decide 1", "read 2", "decide 2", "read 3"]
    (tmp_path / "log").write_text("decide 1\ndecide 2\n")
    resumed = start(tmp_path / "log")
    assert resumed.returncode == 0, resumed.stderr
    calls = (tmp_path / "log").read_text().split("\n")[2:-1]
    assert calls == ["read 3", "decide 3", "read 4", "decide 4", "answer"]
    assert left(cache) == []
    undisturbed = start(tmp_path / "other")
    row = json.loads(resumed.stdout)
    assert timeless(row) == timeless(json.loads(undisturbed.stdout))
    assert row["watched"] == [
        "resume",
        *("read", "record", "decide"),
        *("retrieve", "read", "record", "decide"),
        *("answer", "verify"),
    ]
    assert row["trajectory"]["plan"]["notes"] == ["asked twice"] and row["trajectory"]["usage"]["calls"] == 8


def raising(error):
    def step(*args):
        raise error

    return step


def again(task):
    return Decision("retrieve", "more", (f"query {len(task.queries)}",))


def make(reader=None, question="42 offices", **dials):
    document = FakeDocument()
    reader = reader or ScriptedReader(
        reads=quoting("It has 42 offices."), decides=again, answers=saying("42")
    )
    return make_run(reader, document=document, retriever=FakeRetriever(document, order=[2]), k=1, **dials)


def go(run, question="42 offices", **options):
    return ask(question, run, question_id="q", model="m", keep=True, **options)


def broken_off(run, after: int, step: str = "decide") -> None:
    """Breaks a run off after `after` ends of a step."""
    seen = []

    def watch(name, update):
        seen.append(name)
        if seen.count(step) == after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        go(run, watch=watch)


def test_a_run_that_is_interrupted_keeps_its_steps_and_one_that_ends_leaves_none(cache: Path) -> None:
    run = make()
    broken_off(run, 2)
    assert left(cache)
    told = []
    trajectory = go(make(), watch=lambda step, state: told.append((step, len(state.get("rounds", ())))))
    assert told[0] == ("resume", 2) and trajectory.answer == "42" and len(trajectory.rounds) == 3
    assert left(cache) == []


@pytest.mark.parametrize("step", ["plan", "retrieve", "read", "record", "answer", "verify"])
def test_a_run_broken_off_after_any_step_ends_as_an_undisturbed_one(step: str) -> None:
    whole = go(make())
    broken_off(make(), 1, step)
    assert timeless(go(make()).row()) == timeless(whole.row())


def further(task):
    return again(task) if task.abstained else Decision("answer", "enough")


def unsure(question, plan, facts):
    return saying("42" if len(facts) > 1 else "Unanswerable")(question, plan, facts)


@pytest.mark.parametrize(("step", "times"), [("answer", 1), ("verify", 1), ("decide", 2), ("decide", 3)])
def test_a_run_broken_off_while_an_answer_is_tried_in_vain_goes_on_there(step: str, times: int) -> None:
    def made():
        reads = quoting("It has 42 offices.", "The company was founded in Oslo")
        return make(ScriptedReader(reads=reads, decides=further, answers=unsure))

    whole = go(made())
    assert whole.answer == "42" and len(whole.rounds) == 2
    broken_off(made(), times, step)
    assert timeless(go(made()).row()) == timeless(whole.row())


def test_seconds_of_the_first_part_count_in_the_second() -> None:
    ticks = iter(range(0, 100_000, 10))
    run = make(max_seconds=3600.0)
    run.clock = lambda: float(next(ticks))
    broken_off(run, 2)
    later = make(max_seconds=3600.0)
    later.clock = lambda: float(next(ticks))
    trajectory = go(later)
    assert trajectory.timings["total"] >= sum(v for k, v in trajectory.timings.items() if k != "total")


@pytest.mark.parametrize(
    "other",
    [
        {"question": "another?"},
        {"rounds": 2},
        {"sha256": "1" * 64},
        {"prompts": {"read": "other"}},
    ],
)
def test_another_run_never_finds_the_steps(other: dict) -> None:
    broken_off(make(), 2)
    run = make(**({"rounds": other["rounds"]} if "rounds" in other else {}))
    if "sha256" in other:
        run.documents[0].sha256 = other["sha256"]
    if "prompts" in other:
        run.reader.prompts = other["prompts"]
    told = []
    go(run, other.get("question", "42 offices"), watch=lambda step, _: told.append(step))
    assert told[0] == "plan"


@pytest.mark.parametrize("rubbish", [b"", b"no database" * 1000, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_damaged_file_is_made_anew(rubbish: bytes) -> None:
    run = make()
    file = steps_file("42 offices", run)
    broken_off(run, 2)
    file.write_bytes(rubbish)
    for suffix in ("-wal", "-shm"):
        file.with_name(file.name + suffix).unlink(missing_ok=True)
    assert go(make()).answer == "42" and not file.exists()


def test_steps_that_hold_something_else_are_forgotten() -> None:
    run = make()
    file = steps_file("42 offices", run)
    broken_off(run, 2)
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE checkpoints SET checkpoint = ?", (b"\x81\xa1x\x01",))
    connection.close()
    told = []
    assert go(make(), watch=lambda step, _: told.append(step)).answer == "42" and told[0] == "plan"


def test_two_processes_at_one_question_do_not_mix_their_steps(cache: Path) -> None:
    run = make()
    with kept_steps(steps_file("42 offices", run)) as saver:
        assert saver is not None
        assert go(make()).answer == "42"  # the other has the file; this one does without
        assert left(cache)
    assert left(cache) == []


def aged(file: Path, days: float) -> Path:
    then = time.time() - days * 86_400
    for part in file.parent.glob(f"{file.name}*"):
        os.utime(part, (then, then))
    return file


def begun(question: str, days: float) -> Path:
    """The file of a run that was broken off so many days ago."""
    run = make()
    seen = []

    def watch(name, update):
        seen.append(name)
        if seen.count("decide") == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        go(run, question, watch=watch)
    return aged(steps_file(question, run), days)


def test_steps_that_nobody_went_on_from_for_a_month_go_when_another_run_begins(cache: Path) -> None:
    young, old = begun("asked of late", 29), begun("asked long ago", 31)
    assert old.exists() and young.exists()
    go(make())
    assert not list(old.parent.glob(f"{old.name}*")) and young.exists()
    told = []
    go(make(), "asked of late", watch=lambda step, _: told.append(step))
    assert told[0] == "resume"


def test_an_old_run_that_is_asked_for_again_goes_on() -> None:
    begun("asked long ago", 99)
    told = []
    assert go(make(), "asked long ago", watch=lambda step, _: told.append(step)).answer == "42"
    assert told[0] == "resume"


def test_old_steps_in_use_and_files_of_others_stay(cache: Path) -> None:
    held = steps_file("asked long ago", make())
    other = cache / "runs" / "ab" / "notes.txt"
    broken = cache / "runs" / "cd" / ("cd" * 32)
    for file in (other, broken):
        file.parent.mkdir(parents=True)
        file.write_bytes(b"no database " * 99)
    wal = broken.with_name("ce" * 32 + "-wal")
    wal.touch()
    with kept_steps(held) as saver:
        assert saver is not None
        for file in (held, other, broken, wal):
            aged(file, 99)
        go(make())
        assert held.exists() and other.exists() and not broken.exists() and not wal.exists()
        begun("one more", 0)
        assert held.exists()
    assert not held.exists()


def test_old_steps_of_another_living_process_stay(cache: Path, tmp_path: Path) -> None:
    held = steps_file("asked long ago", make())
    code = (
        "import sys, time; from pathlib import Path; from agent.steps import kept_steps\n"
        "with kept_steps(Path(sys.argv[1])) as saver: print('held', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(held)], stdout=subprocess.PIPE, text=True, cwd=SCRIPT.parents[2]
    )
    try:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        aged(held, 99)
        go(make())
        assert held.exists()
    finally:
        holder.kill()
        holder.communicate()
    aged(held, 99)
    go(make())
    assert not held.exists()


def test_a_place_that_cannot_be_written_is_one_line(cache: Path) -> None:
    run = make()
    steps_file("42 offices", run)
    (cache / "runs").write_text("a file")
    with pytest.raises(InputError, match="the steps of the run cannot be kept") as caught:
        go(run)
    assert "\n" not in str(caught.value)


def test_an_error_of_the_user_keeps_the_steps_so_that_the_next_try_goes_on(cache: Path) -> None:
    calls = []

    def reads(task):
        calls.append(task)
        if len(calls) == 2:
            raise InputError("the key is wrong")
        return quoting("It has 42 offices.")(task)

    def reader():
        return ScriptedReader(reads=reads, decides=again, answers=saying("42"))

    with pytest.raises(InputError, match="key"):
        go(make(reader()))
    assert go(make(reader())).answer == "42"
    assert len(calls) == 4  # round 1 once, round 2 twice, round 3 once


def test_without_being_asked_nothing_is_kept(cache: Path) -> None:
    ask("42 offices", make(), question_id="q", model="m")
    assert not (cache / "runs").exists()


def test_every_type_of_the_state_may_be_read_back() -> None:
    """What is not listed would come back as something else after a kill only."""
    found: set[type] = set()

    def collect(hint) -> None:
        for part in typing.get_args(hint):
            collect(part)
        if dataclasses.is_dataclass(hint) and hint not in found:
            found.add(hint)
            for name, kind in typing.get_type_hints(hint).items():
                del name
                collect(kind)

    for hint in typing.get_type_hints(State, include_extras=False).values():
        collect(hint)
    assert {RoundRecord, Fact, FactDraft, EvidenceRegion, PageRef, BBox} <= found == set(STORED)


def test_stored_objects_come_back_with_their_tuples(tmp_path: Path) -> None:
    draft = FactDraft(
        PageRef(DOC, 1), "a", "b", 0.5, 1, ((1, 2), (3, 4)), (5,), BBox(0.1, 0.2, 0.3, 0.4), ((0, 1, 2),)
    )
    fact = Fact("f1", "a", "b", (EvidenceRegion(PageRef(DOC, 1), BBox(0, 0, 1, 1)),), "exact", 1)
    with kept_steps(tmp_path / "file") as saver:
        assert saver is not None
        again = saver.serde.loads_typed(saver.serde.dumps_typed({"drafts": (draft,), "facts": [fact]}))
    assert again == {"drafts": [draft], "facts": [fact]}
    assert hash(again["facts"][0]) == hash(fact)
