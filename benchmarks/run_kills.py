"""Kills a run several times and compares what it leaves with an undisturbed run: equal in all but times?

    python benchmarks/run_kills.py financebench DATA/financebench --out OUT --limit 20
    python benchmarks/run_kills.py mmlongbench-v2 DATA/mmlongbench --out OUT --kills 5

Each kill takes the runner (SIGKILL), every second one a worker process before it. OUT/undisturbed is made
first, or taken as it is where it is complete; OUT/killed is made anew. Exit code 1 if the runs differ.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TIMES = frozenset({"timings", "seconds"})


def without_times(value: Any) -> Any:
    """A row without the fields that say how long something took."""
    if isinstance(value, dict):
        return {key: without_times(part) for key, part in value.items() if key not in TIMES}
    if isinstance(value, list):
        return [without_times(part) for part in value]
    return value


def rows_of(run: Path) -> list[Any]:
    """The rows of a run in their order, without times."""
    with (run / "infer.jsonl").open(encoding="utf-8") as file:
        return [without_times(json.loads(line)) for line in file]


def lines_in(run: Path) -> int:
    """Rows written so far."""
    path = run / "infer.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def workers_of(pid: int) -> list[int]:
    """Process ids of a process's children."""
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True)
    return [int(word) for word in listed.stdout.split()]


def start(arguments: Sequence[str], run: Path) -> "subprocess.Popen[bytes]":
    """Starts the runner."""
    command = [sys.executable, "-m", "eval.run", *arguments, "--out", str(run.absolute()), "--quiet"]
    return subprocess.Popen(command, cwd=ROOT)


def finish(arguments: Sequence[str], run: Path) -> None:
    """Runs to the end."""
    if start(arguments, run).wait():
        raise SystemExit("the run failed")


def wait_for_rows(process: "subprocess.Popen[bytes]", run: Path, rows: int) -> bool:
    """Waits until there are so many rows; False if the run ended before."""
    while lines_in(run) < rows:
        if process.poll() is not None:
            return False
        time.sleep(0.02)
    return True


def kill_and_resume(arguments: Sequence[str], run: Path, kills: int, total: int) -> int:
    """Makes a run with kills on the way; returns how many there were."""
    done = 0
    for number in range(1, kills + 1):
        process = start(arguments, run)
        target = number * total // (kills + 1)
        if not wait_for_rows(process, run, target):
            break
        if number % 2 == 0:
            for worker in workers_of(process.pid)[:1]:
                os.kill(worker, signal.SIGKILL)
            wait_for_rows(process, run, target + 1)
        process.kill()
        process.wait()
        done += 1
        sys.stderr.write(f"kill {number} at {lines_in(run)} of {total} rows\n")
    finish(arguments, run)
    return done


def main() -> int:
    """Runs, kills, compares."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("benchmark")
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pdfs", type=Path)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--kills", type=int, default=5)
    options = parser.parse_args()
    arguments = ["--benchmark", options.benchmark, "--data", str(options.data.absolute())]
    if options.pdfs:
        arguments += ["--pdfs", str(options.pdfs.absolute())]
    if options.limit:
        arguments += ["--limit", str(options.limit)]
    undisturbed, killed = options.out / "undisturbed", options.out / "killed"
    finish(arguments, undisturbed)
    shutil.rmtree(killed, ignore_errors=True)
    wanted = rows_of(undisturbed)
    done = kill_and_resume(arguments, killed, options.kills, len(wanted))
    got = rows_of(killed)
    differing = [a["question_id"] for a, b in zip(wanted, got, strict=False) if a != b]
    same = len(wanted) == len(got) and not differing
    sys.stdout.write(
        f"{len(wanted)} rows undisturbed, {len(got)} after {done} kills: "
        f"{'equal in all but times' if same else f'different: {differing[:10]}'}\n"
    )
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
