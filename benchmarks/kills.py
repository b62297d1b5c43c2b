"""Is a build that is killed again and again the same, byte for byte, as an undisturbed one?

    python benchmarks/kills.py DATA --documents 6 --kills 10

Builds a corpus of some of the PDFs under DATA with a tiny random ColQwen checkpoint, undisturbed. Then builds
it again elsewhere, in its own empty cache, and kills the process (SIGKILL) at random moments. In the end
every file of the two corpora is compared.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY))

from eval.random_checkpoint import write_checkpoint  # noqa: E402
from indexes.corpus import DOCUMENTS, MANIFEST  # noqa: E402
from indexes.errors import InputError, run_command  # noqa: E402


def main() -> int:
    """Builds, kills, compares; returns 1 if a byte differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="a folder with PDFs, searched through")
    parser.add_argument("--documents", type=int, default=6, metavar="N", help="the N smallest PDFs")
    parser.add_argument("--kills", type=int, default=10, metavar="N", help="(default: %(default)s)")
    parser.add_argument("--tokens", type=int, default=64, metavar="N", help="visual tokens a page")
    parser.add_argument("--seed", type=int, default=0, help="of the moments (default: %(default)s)")
    parser.add_argument("--work", type=Path, help="where to build (default: a temporary folder)")
    options = parser.parse_args()
    pdfs = sorted(options.data.rglob("*.pdf"), key=lambda path: (path.stat().st_size, path.name))
    chosen = pdfs[: options.documents]
    if not chosen:
        raise InputError(f"{options.data}: no PDFs in it")
    with tempfile.TemporaryDirectory(dir=options.work) as name:
        work = Path(name)
        write_checkpoint(work / "model", "qwen2_5_vl", 0)
        command = [sys.executable, "-m", "indexes.build", *map(str, chosen), "--quiet"]
        command += ["--encoder", "colqwen", "--model", str(work / "model"), "--device", "cpu"]
        command += ["--max-num-visual-tokens", str(options.tokens), "--out"]
        start = time.perf_counter()
        lines = _finish([*command, str(work / "plain" / "corpus")], work / "plain")
        whole = time.perf_counter() - start
        sys.stdout.write(f"{lines}undisturbed: {whole:.1f} s\n")
        killed = _killed([*command, str(work / "killed" / "corpus")], work / "killed", options, whole)
        again = _finish([*command, str(work / "killed" / "corpus")], work / "killed")
        sys.stdout.write(f"{again}killed {killed} times, then finished\n")
        return _compare(work / "plain" / "corpus", work / "killed" / "corpus")


def _environment(folder: Path) -> dict[str, str]:
    folder.mkdir(parents=True, exist_ok=True)
    return {
        **os.environ,
        "PAGETRAIL_CACHE": str(folder / "cache"),
        "PYTHONPATH": str(REPOSITORY),
        "HF_HUB_OFFLINE": "1",
    }


def _finish(command: Sequence[str], folder: Path) -> str:
    """Runs a build to its end."""
    done = subprocess.run(command, env=_environment(folder), capture_output=True, text=True, check=False)
    if done.returncode:
        raise InputError(f"the build ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout


def _killed(command: Sequence[str], folder: Path, options: argparse.Namespace, whole: float) -> int:
    """Starts the build and kills it, as often as asked for; says what was there at each kill.

    Every other moment is drawn from the whole time of a build; the rest from when its first batch is done, so
    that the kills also meet its later stages although each start takes a while.
    """
    moments = random.Random(options.seed)
    killed = 0
    while killed < options.kills:
        process = subprocess.Popen(
            command, env=_environment(folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        if killed % 2:
            before = _files(folder)
            while process.poll() is None and _files(folder) == before:
                time.sleep(0.02)
            time.sleep(moments.uniform(0, whole / options.kills))
        else:
            time.sleep(moments.uniform(0, whole))
        if process.poll() is not None:
            raise InputError(f"the build was done after {killed} kills; name more documents, or fewer kills")
        process.send_signal(signal.SIGKILL)
        process.wait()
        killed += 1
        corpus = folder / "corpus"
        parts = len(list(corpus.glob(f"{DOCUMENTS}/*.parts/*.npz")))
        finished = len(list(corpus.glob(f"{DOCUMENTS}/*/manifest.json")))
        listed = "is" if (corpus / MANIFEST).exists() else "is not"
        sys.stdout.write(
            f"kill {killed}: {finished} documents, {parts} batches of the next, manifest {listed} there\n"
        )
        sys.stdout.flush()
    return killed


def _files(folder: Path) -> set[Path]:
    return set((folder / "corpus").rglob("*"))


def _compare(first: Path, second: Path) -> int:
    names = [{path.relative_to(folder) for path in folder.rglob("*")} for folder in (first, second)]
    problems = [f"only in one: {name}" for name in sorted(names[0] ^ names[1])]
    size = 0
    for name in sorted(names[0] & names[1]):
        if (first / name).is_file():
            size += (first / name).stat().st_size
            if (first / name).read_bytes() != (second / name).read_bytes():
                problems.append(f"differs: {name}")
    sys.stdout.write("".join(f"{problem}\n" for problem in problems))
    verdict = f"{len(problems)} differences" if problems else "equal"
    sys.stdout.write(f"{len(names[0])} files and folders, {size / 1e6:.1f} MB: {verdict}\n")
    return 1 if problems else 0


if __name__ == "__main__":
    run_command(main)
