"""Worker processes: crashes, hangs, interruptions; the cache stays whole and no worker is left."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from indexes.document import Document
from indexes.workers import WorkerPool
from tests.indexes.make_pdfs import text_pdf

REPOSITORY = Path(__file__).resolve().parents[2]
WORKER = "tests.indexes.crashing_worker"


@pytest.fixture(autouse=True)
def fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("PAGETRAIL_CACHE", str(tmp_path / "cache"))
    yield tmp_path / "cache"


def _pages(path: Path, count: int = 20) -> Path:
    return text_pdf(path, [f"this is page {n}" for n in range(1, count + 1)])


def _workers_of(pid: int) -> list[int]:
    found = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    return [int(line) for line in found.stdout.split()]


def _is_gone(pid: int, seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if "State:\tZ" in Path(f"/proc/{pid}/status").read_text():
            return True
        time.sleep(0.1)
    return False


def test_a_page_that_kills_its_worker_is_reported_and_the_rest_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRASH_ON_PAGE", "7")
    with Document.open(_pages(tmp_path / "doc.pdf")) as opened:
        opened._pool.close()
        opened._pool = WorkerPool(2, module=WORKER)
        texts = [page.text for page in opened.pages()]
        assert list(opened.failed) == [7] and "signal 11" in opened.failed[7]
    assert texts == [f"this is page {n}" if n != 7 else "" for n in range(1, 21)]


def test_a_page_that_takes_too_long_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOW_SECONDS", "30")
    with Document.open(_pages(tmp_path / "doc.pdf", 1)) as opened:
        opened._pool.close()
        opened._pool = WorkerPool(1, timeout=1.0, module=WORKER)
        assert opened.page(1).text == ""
        assert opened.failed == {1: "gave up after 1 seconds"}


def test_an_unknown_task_fails_without_harm() -> None:
    pool = WorkerPool(1)
    try:
        assert pool.call({"operation": "nothing"}).status == "failed"
        assert pool.call({"operation": "nothing"}).status == "failed"
    finally:
        pool.close()


def test_closing_a_document_ends_its_workers(tmp_path: Path) -> None:
    opened = Document.open(_pages(tmp_path / "doc.pdf", 40))
    opened.page(1)
    pids = [worker.process.pid for worker in opened._pool._workers]
    assert pids
    opened.close()
    assert all(_is_gone(pid) for pid in pids)


SCRIPT = """
import sys
from indexes.document import Document
from indexes.workers import WorkerPool
with Document.open(sys.argv[1]) as doc:
    doc._pool.close()
    doc._pool = WorkerPool(2, module="tests.indexes.crashing_worker")
    print("reading", flush=True)
    print(doc.page(1).text, len(doc), flush=True)
"""


def _start(path: Path, slow: str = "0") -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(path)],
        cwd=REPOSITORY,
        env={**os.environ, "SLOW_SECONDS": slow},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interruption_leaves_a_usable_cache_and_no_worker(tmp_path: Path, how: signal.Signals) -> None:
    path = _pages(tmp_path / "doc.pdf", 60)
    process = _start(path, slow="20")
    assert process.stdout is not None
    assert process.stdout.readline() == "reading\n"
    end = time.monotonic() + 30
    while not (pids := _workers_of(process.pid)) and time.monotonic() < end:
        time.sleep(0.1)
    assert pids
    time.sleep(1.0)
    process.send_signal(how)
    process.communicate(timeout=20)
    assert process.returncode != 0
    assert all(_is_gone(pid) for pid in pids)
    with Document.open(path) as opened:
        assert [page.text for page in opened.pages()] == [f"this is page {n}" for n in range(1, 61)]


STUCK = """
import os, re, threading, time
from indexes import workers
workers.STUCK = 2
threading.Thread(target=workers.leave_with_parent, args=(os.getppid(),), daemon=True).start()
time.sleep(0.5)
re.match("(a+)+$", "a" * 80 + "b")  # for ages, and no thread runs meanwhile
"""


def test_a_process_stuck_where_no_thread_runs_is_ended_though_its_parent_does_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", STUCK], cwd=REPOSITORY, timeout=30, check=False)
    assert done.returncode == -signal.SIGPROF


def test_two_processes_read_the_same_document_at_once(tmp_path: Path) -> None:
    path = _pages(tmp_path / "doc.pdf", 60)
    both = [_start(path), _start(path)]
    for process in both:
        out, err = process.communicate(timeout=60)
        assert out == "reading\nthis is page 1 60\n", err
    assert len(list((tmp_path / "cache" / "pages").rglob("meta.json"))) == 1


def test_a_worker_that_was_prepared_takes_the_first_task_and_ends_with_the_pool(tmp_path: Path) -> None:
    path = text_pdf(tmp_path / "a.pdf", ["some words"])
    with Document.open(path) as opened:
        assert opened.page(1).text == "some words"
    with Document.open(path) as opened:
        assert opened.labels == (None,)
        opened.prepare_layout()
        opened.prepare_layout()
        (worker,) = opened._pool._workers
        assert opened.layout([1])[1].text == "some words" and not opened.failed
        assert opened._pool._workers == [worker]
    assert worker.process.poll() is not None
