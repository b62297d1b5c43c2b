"""Work on a real Ray cluster of this machine: lost workers' work is done again, the result is the same."""

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from indexes.build import main as build
from indexes.cluster import Here, open_pool
from indexes.corpus import DOCUMENTS
from indexes.errors import InputError
from tests.indexes.cluster_functions import make, work
from tests.indexes.make_pdfs import TEXT, text_pdf

ROOT = Path(__file__).parents[2]
needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install 'pagetrail[ray]'"
)
needs_two_cores = pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="two workers need two cores")


def test_without_an_address_this_process_does_the_work_in_order() -> None:
    with open_pool(None, lambda: 3) as pool:
        assert isinstance(pool, Here)
        outcomes = list(pool.map(work, ["a", "bad", "b"]))
    assert [(o.place, o.status, o.message) for o in outcomes] == [
        (0, "done", ""),
        (1, "failed", "a bad item"),
        (2, "done", ""),
    ]
    assert outcomes[0].value[:2] == [3, "a"]


def test_without_ray_a_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        pytest.raises(InputError, match=r"ray is not installed: pip install 'pagetrail\[ray\]'"),
        open_pool("local", make),
    ):
        pass


def test_less_than_a_core_is_refused() -> None:
    with pytest.raises(InputError, match="0 cores a worker"), open_pool("local", make, cores=0):
        pass


@needs_ray
@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "nonsense"])
def test_a_cluster_that_is_not_there_is_a_line(address: str) -> None:
    with pytest.raises(InputError, match=f"no cluster at '{address}'"), open_pool(address, make):
        pass


@needs_ray
def test_a_lost_worker_s_item_is_done_again_and_one_that_kills_every_worker_is_given_up(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-m", "tests.indexes.cluster_functions", str(tmp_path / "mark")]
    done = subprocess.run(command, cwd=ROOT, env=_environment(), capture_output=True, text=True, timeout=300)
    rows = {row[0]: row[1:] for row in map(json.loads, done.stdout.splitlines())}
    assert sorted(rows) == [0, 1, 2, 3, 4, 5], done.stderr
    cache = os.environ["PAGETRAIL_CACHE"]
    for place, name in ((0, "a"), (2, "mark"), (3, "b"), (5, "c")):
        assert rows[place] == ["done", [7, name, cache], ""]
    assert rows[1] == ["failed", None, "a bad item"]
    assert rows[4][0] == "lost" and rows[4][2].startswith("3 workers were lost over it")


@needs_ray
@needs_two_cores
def test_two_workers_of_which_one_is_killed_build_what_one_process_builds(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in "abc":
        text_pdf(tree / f"{name}.pdf", [f"Page {number} of {name}. {TEXT * 4}" for number in range(33)])
    (tree / "broken.pdf").write_text("no PDF")
    arguments = [str(tree), "--no-ocr", "--out"]
    assert build([*arguments, str(tmp_path / "plain"), "--quiet"]) == 2
    command = [sys.executable, "-m", "indexes.build", *arguments, str(tmp_path / "ray")]
    log = tmp_path / "log"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [*command, "--ray", "local", "--ray-cores", "1"], cwd=ROOT, env=_environment(), stderr=stream
        )
        os.kill(_working(process, tmp_path / "ray", log), signal.SIGKILL)
        assert process.wait(300) == 2
    said = log.read_text()
    assert "a worker was lost; what it was at is done again" in said
    assert "broken.pdf: no PDF" in said and "1 of 4 documents could not be indexed" in said
    assert _contents(tmp_path / "ray") == _contents(tmp_path / "plain")


def _working(process: "subprocess.Popen[bytes]", out: Path, log: Path) -> int:
    """The process id of a worker, as soon as both are there and batches have been written."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and process.poll() is None:
        workers = re.findall(r"ray: process (\d+) on", log.read_text())
        if len(workers) == 2 and any(out.glob(f"{DOCUMENTS}/*.parts/*.npz")):
            return int(workers[0])
        time.sleep(0.01)
    raise AssertionError(f"no two workers were seen at work: {log.read_text()}")


def _contents(folder: Path) -> dict[Path, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return {path.relative_to(folder): path.read_bytes() for path in files}


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "RAY_USAGE_STATS_ENABLED": "0"}
