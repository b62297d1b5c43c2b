"""Sweeps: what is planned, that replays are runs of their own, and what the tables and the page show."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from report_fakes import gold_regions, make_benchmark, trajectory, write_run

from agent.config import Config, load_config
from agent.readers import load_reader
from agent.replay import replay
from agent.trajectory import Trajectory
from agent.types import UNANSWERABLE
from eval.ablate import ablate, main, make_plan, parse_sweep, with_dials
from eval.benchmarks import load
from eval.job import Job
from eval.replaying import Replays
from eval.rows import RowReader
from eval.sweep import Setting, Sweep, folder_name, read_sweep, same_sweep, write_sweep
from indexes.errors import InputError


def test_values_are_read_as_yaml():
    assert parse_sweep(["rounds=1, 2,4"]) == {"rounds": (1, 2, 4)}
    assert parse_sweep(["ocr=true,false", "encoder=minilm"]) == {"ocr": (True, False), "encoder": ("minilm",)}


@pytest.mark.parametrize(
    "texts", [[], ["rounds"], ["=1"], ["k=1,,2"], ["k=1", "k=2"], ["a=1", "b=1", "c=1"], ["k={"]]
)
def test_what_is_no_sweep_is_refused(texts):
    with pytest.raises(InputError, match="--sweep"):
        parse_sweep(texts)


def test_any_key_of_a_config_can_be_set_also_one_within_another():
    base = load_config("cpu")
    assert with_dials(base, {"k": 7}).k == 7
    assert with_dials(base, {"view.images": False}).view.images is False
    for values in ({"kay": 7}, {"view.pictures": True}, {"k": "many"}, {"k.images": 1}):
        with pytest.raises(InputError):
            with_dials(base, values)


def test_smaller_budgets_of_rounds_are_replays_of_the_largest():
    plan = make_plan(load_config("cpu"), {"rounds": (4, 1, 2)}, {})
    assert [(s.folder, s.long) for s in plan.sweep.settings] == [
        ("rounds-1", "rounds-4"),
        ("rounds-2", "rounds-4"),
        ("rounds-4", None),
    ]
    longest = plan.configs["rounds-4"]
    assert (longest.rounds, longest.max_pages) == (4, 16)
    assert plan.configs["rounds-2"] == with_dials(longest, {"rounds": 2})
    assert "max_pages is 16" in plan.sweep.note


def test_a_budget_of_pages_that_is_set_is_kept():
    plan = make_plan(load_config("cpu"), {"rounds": (1, 8)}, {"max_pages": 5})
    assert plan.configs["rounds-8"].max_pages == 5
    assert plan.sweep.note == "With max_pages=5."


def test_a_grid_has_a_long_run_for_each_value_of_the_other_dial():
    plan = make_plan(load_config("cpu"), {"k": (2, 4), "rounds": (1, 3)}, {})
    assert [s.name for s in plan.sweep.settings] == [
        "k=2, rounds=1",
        "k=2, rounds=3",
        "k=4, rounds=1",
        "k=4, rounds=3",
    ]
    assert [s.long for s in plan.sweep.settings] == ["k-2-rounds-3", None, "k-4-rounds-3", None]
    two = make_plan(load_config("cpu"), {"k": (2, 4), "dpi": (72, 144)}, {})
    assert all(s.long is None for s in two.sweep.settings) and len(two.configs) == 4


def test_values_that_are_no_rounds_or_out_of_range_are_refused():
    with pytest.raises(InputError, match="whole numbers"):
        make_plan(load_config("cpu"), {"rounds": (1, "many")}, {})
    with pytest.raises(InputError, match="rounds"):
        make_plan(load_config("cpu"), {"rounds": (0, 2)}, {})
    with pytest.raises(InputError, match="same folder"):
        make_plan(load_config("cpu"), {"reader_model": ("a/b", "a-b")}, {})


def test_a_sweep_is_read_back_and_another_one_is_refused(tmp_path):
    sweep = Sweep("ablation", "k = 1", (Setting("k=1", "k-1", {"k": 1}),), "a note")
    write_sweep(tmp_path, sweep)
    assert read_sweep(tmp_path) == sweep
    same_sweep(tmp_path, [Setting("k=2", "k-2", {"k": 2})])
    with pytest.raises(InputError, match="name another folder"):
        same_sweep(tmp_path, [Setting("k=1", "k-1", {"k": 3})])
    (tmp_path / "sweep.json").write_text(json.dumps({"format": 1, "kind": "ablation", "settings": []}))
    with pytest.raises(InputError, match="no sweep"):
        read_sweep(tmp_path)
    (tmp_path / "sweep.json").write_text(
        (tmp_path / "sweep.json").read_text().replace("[]", '[{"folder": "../x"}]')
    )
    with pytest.raises(InputError, match="no sweep"):
        read_sweep(tmp_path)


def test_a_folders_name_is_safe():
    assert folder_name("reader_model=../a b, k=4") == "reader_model-..-a-b-k-4"
    assert folder_name("//") == "run"


# ---- a sweep of rounds over runs that are there


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The data and the folder of a sweep whose long run was made up; its replays are real."""
    data = make_benchmark(tmp_path_factory.mktemp("data"), hostile=False)
    out = tmp_path_factory.mktemp("sweeps") / "rounds"
    plan = make_plan(load_config("cpu"), {"rounds": (1, 2, 3)}, {})
    config = plan.configs["rounds-3"]
    write_run(data, out / "rounds-3", long_rows(data, config), config)
    ablate(Job("docscope", data, out), plan)
    return data, out


def long_rows(data: Path, config: Config) -> dict[str, str]:
    rows = {}
    for place, question in enumerate(load("docscope", data)):
        told = question.gold_facts[0].text if question.gold_facts else ""
        run = trajectory(
            question,
            question.answer or UNANSWERABLE,
            regions=gold_regions(question),
            text=told,
            rounds=1 + place % 3,
            config=config,
        )
        rows[question.id] = run.line()
    return rows


def untimed(run: Trajectory) -> Trajectory:
    return replace(run, timings={}, rounds=tuple(replace(record, seconds=0.0) for record in run.rounds))


def rows_of(folder: Path) -> dict[str, dict]:
    return {row["question_id"]: row for row in RowReader(folder / "infer.jsonl")}


def test_a_replay_is_a_run_folder_whose_answers_come_from_the_state_after_its_round(swept):
    data, out = swept
    long, short = rows_of(out / "rounds-3"), rows_of(out / "rounds-1")
    assert len(long) == len(short) == 10
    for name, row in short.items():
        run = Trajectory.from_row(long[name])
        again = replay(run, 1, load_reader(Config(**run.config)))
        got = Trajectory.from_row(row)
        assert untimed(got) == untimed(again)
        assert len(got.rounds) == 1 and got.config["rounds"] == 1
    late = [name for name, row in long.items() if len(row["trajectory"]["rounds"]) == 3]
    assert all(not short[name]["trajectory"]["facts"] for name in late)
    manifest = json.loads((out / "rounds-1" / "manifest.json").read_text())
    assert manifest["identity"]["config"]["rounds"] == 1 and manifest["failed"] == 0


def test_a_finished_sweep_asks_nothing_again(swept):
    data, out = swept
    before = {path: path.read_bytes() for path in out.glob("*/infer.jsonl")}
    ablate(Job("docscope", data, out), make_plan(load_config("cpu"), {"rounds": (1, 2, 3)}, {}))
    assert {path: path.read_bytes() for path in out.glob("*/infer.jsonl")} == before


def test_the_command_tables_the_settings_and_their_differences(swept, capsys):
    data, out = swept
    command = ["--benchmark", "docscope", "--data", str(data), "--out", str(out), "--quiet"]
    assert main([*command, "--sweep", "rounds=1,2,3"]) == 0
    told = capsys.readouterr().out
    assert "| rounds=1 " in told and "differences to rounds=1" in told
    with pytest.raises(InputError, match="one value"):
        main([*command, "--sweep", "k=1", "--set", "rounds=1,2"])


def test_the_page_of_a_sweep_shows_what_each_round_buys(swept):
    pytest.importorskip("matplotlib")
    from eval.report.__main__ import report

    _, out = swept
    sections = report(out, out / "report.html", pictures="none")
    titles = [section.title for section in sections]
    assert titles[:2] == ["Settings", "Rounds"]
    rounds = sections[1]
    assert {figure.name for figure in rounds.figures} >= {"rounds-retrieved", "rounds-read", "rounds-answers"}
    answers = next(table for table in rounds.tables if table.title.startswith("Answers at each budget"))
    assert [row.name for row in answers.rows] == ["1 round", "2 rounds", "3 rounds"]
    assert answers.rows[0].cells["all"].value <= answers.rows[2].cells["all"].value
    cost = next(table for table in rounds.tables if table.title == "Cost of a round")
    assert [row.cells["questions"].value for row in cost.rows] == [10, 6, 3]
    assert [row.cells["seconds"].value for row in cost.rows] == pytest.approx([0.5, 1.0, 1.5])
    useful = next(table for table in rounds.tables if table.title == "The last useful round")
    shares = [row.cells["evidence"].value for row in useful.rows]
    assert sum(shares) == pytest.approx(1)


def test_a_sweep_that_was_broken_off_is_not_drawn_as_if_it_were_whole(tmp_path):
    from eval.report.load import Gold, load_sweep

    write_sweep(tmp_path, Sweep("ablation", "k = 1", (Setting("k=1", "k-1", {"k": 1}),)))
    with pytest.raises(InputError, match="k-1 was not run yet"):
        load_sweep(tmp_path, Gold())


def test_a_replay_of_a_question_that_the_run_does_not_have_fails_with_the_reason(swept):
    data, out = swept
    replays = Replays(out / "rounds-3")
    config = Config(rounds=1)
    replays.ready(config)
    with replays.open((), config) as asker:
        with pytest.raises(ValueError, match="no row"):
            asker.ask("What?", "nobody")
        with pytest.raises(ValueError, match="another one"):
            asker.ask("What?", "smoke-01")


# ---- on a cluster


@pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install 'pagetrail[ray]'"
)
def test_a_cluster_gives_the_replays_and_the_settings_that_processes_here_give(
    swept: tuple[Path, Path], tmp_path: Path
) -> None:
    data, here = swept
    out = tmp_path / "rounds"
    shutil.copytree(here / "rounds-3", out / "rounds-3")
    common = ["--benchmark", "docscope", "--data", str(data), "--ray", "local", "--quiet"]
    on_ray(["eval.ablate", *common, "--out", str(out), "--sweep", "rounds=1,3"])
    got, expected = rows_of(out / "rounds-1"), rows_of(here / "rounds-1")
    assert {name: untimed(Trajectory.from_row(row)) for name, row in got.items()} == {
        name: untimed(Trajectory.from_row(row)) for name, row in expected.items()
    }
    (sitting,) = json.loads((out / "rounds-1/manifest.json").read_text())["sittings"]
    assert sitting["ray"] == "local" and "workers" not in sitting
    assert "started on Ray (local)" in (out / "rounds-1/log.txt").read_text()

    out = tmp_path / "oracle"
    on_ray(["eval.oracle", *common, "--out", str(out), "--settings", "closed-book", "--limit", "3"])
    rows = rows_of(out / "closed-book")
    assert len(rows) == 3 and all(row["status"] == "ok" for row in rows.values())
    assert {row["model"] for row in rows.values()} == {"pagetrail/cpu+closed-book"}


def on_ray(arguments: list[str]) -> None:
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root), "RAY_USAGE_STATS_ENABLED": "0"}
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
