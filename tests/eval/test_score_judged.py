"""Scoring a run by a served judge that fails on the way: unscored is counted, nothing is lost."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "agent"), str(HERE)]

from scripted_server import Action, Fails, Says, said_to, serving  # noqa: E402
from test_score import make_run, perfect  # noqa: E402

from eval import smoke  # noqa: E402
from eval.benchmarks import load  # noqa: E402
from eval.score import main  # noqa: E402
from indexes.errors import InputError  # noqa: E402


def verdict(body: dict[str, Any]) -> Action:
    text = said_to(body)
    ids = [line.split(" ::")[0].removeprefix("id=") for line in text.splitlines() if line.startswith("id=")]
    if not ids:
        return Says({"consistent": "deputy" not in text, "reason": "told so"})
    label = "covered" if "Green boxes" in text else "consistent"
    return Says({"items": [{"id": i, "label": label, "reason": ""} for i in ids]})


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PAGETRAIL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PAGETRAIL_API_KEY", "secret")
    smoke.write_benchmark(tmp_path / "data")
    return make_run(
        tmp_path / "run", tmp_path / "data", [perfect(q) for q in load("docscope", tmp_path / "data")]
    )


def write_config(folder: Path, base_url: str) -> Path:
    path = folder / "judge.yaml"
    endpoint = f"{{base_url: '{base_url}', retries: 0, timeout: 120.0}}"
    path.write_text(f"reader: chat\nreader_model: judge-1\nendpoint: {endpoint}\nview: {{}}\n")
    return path


def figures(run: Path) -> dict[str, Any]:
    summary = json.loads((run / "summary.json").read_text())
    strict = {f["measure"]: f for f in summary["figures"] if f["aggregate"] == "strict"}
    return {"summary": summary, **strict}


def test_what_a_judge_fails_on_is_unscored_then_got_by_the_same_command(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def faulty(body: dict[str, Any]) -> Action:
        text = said_to(body)
        return Fails(500) if "founded" in text or "out of service" in text else verdict(body)

    with serving(faulty) as server:
        # one request at a time: the first, which shows that the server is there, is for the first question
        options = [str(run), "--judge", str(write_config(tmp_path, server.base_url)), "--judge-workers", "1"]
        assert main(options) == 0
        found = figures(run)
        assert found["summary"]["unscored"] == ["smoke-04", "smoke-05"]
        assert found["accuracy"]["n"] == 8 and found["fact_consistency"]["n"] == 8
        assert len(found["summary"]["judge_failures"]) == 6, "answer, region and fact of two questions"
        assert "secret" not in json.dumps(found["summary"])
        shown = capsys.readouterr().out
        assert "2 unscored (smoke-04, smoke-05)" in shown and "no verdict on smoke-04 (" in shown
        assert "Answers scored by judge judge-1 (prompt " in shown
        server.script = verdict
        before = len(server.requests)
        assert main(options) == 0
        assert len(server.requests) - before == 6
    found = figures(run)
    assert found["summary"]["unscored"] == [] and found["summary"]["judge"]["model"] == "judge-1"
    assert (found["accuracy"]["value"], found["accuracy"]["n"]) == (0.9, 10)
    assert found["region_strict_recall"]["value"] == 1.0


def test_options_of_a_judge_without_a_judge_are_refused(run: Path) -> None:
    with pytest.raises(InputError, match="go with --judge CONFIG"):
        main([str(run), "--judge-regions", "eyes.yaml"])
