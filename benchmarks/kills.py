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
        moments = random.Random(options.seed)
        command += ["--max-num-visual-tokens", str(options.tokens), "--out"]
        plain = _Watch(work / "plain" / "corpus")
        lines = plain.finish(_start([*command, str(plain.corpus)], work / "plain"))
        sys.stdout.write(f"{lines}undisturbed: {plain.seconds:.1f} s, {len(plain.seen)} batches\n")
        killed = _Watch(work / "killed" / "corpus")
        command.append(str(killed.corpus))
        for kill in range(options.kills):
            killed.kill(_start(command, work / "killed"), plain, options.kills - kill, moments)
            sys.stdout.write(f"kill {kill + 1}: {killed.state()}\n")
            sys.stdout.flush()
        lines = killed.finish(_start(command, work / "killed"))
        sys.stdout.write(f"{lines}killed {options.kills} times, then finished\n")
        return _compare(plain.corpus, killed.corpus)


def _environment(folder: Path) -> dict[str, str]:
    folder.mkdir(parents=True, exist_ok=True)
    return {
        **os.environ,
        "PAGETRAIL_CACHE": str(folder / "cache"),
        "PYTHONPATH": str(REPOSITORY),
        "HF_HUB_OFFLINE": "1",
    }


def _start(command: Sequence[str], folder: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        command, env=_environment(folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


class _Watch:
    """Looks on at builds of one corpus and remembers the batches that were written."""

    def __init__(self, corpus: Path) -> None:
        self.corpus = corpus
        self.seen: set[str] = set()
        self.seconds = self.until_first = 0.0

    def look(self) -> None:
        """Adds the batches that are there now."""
        parts = self.corpus.glob(f"{DOCUMENTS}/*.parts/[0-9]*.npz")
        self.seen.update(f"{part.parent.name}/{part.name}" for part in parts)

    def finish(self, process: "subprocess.Popen[str]") -> str:
        """Waits for a build's end; returns what it said."""
        start = time.perf_counter()
        while process.poll() is None:
            self.look()
            self.seconds = time.perf_counter() - start
            if not self.seen:
                self.until_first = self.seconds
            time.sleep(0.01)
        said = process.communicate()[0]
        if process.returncode:
            raise InputError(f"the build ended with {process.returncode}: {said.strip()[-300:]}")
        return said

    def kill(
        self, process: "subprocess.Popen[str]", plain: "_Watch", kills: int, moments: random.Random
    ) -> None:
        """Kills a build after a random number of batches, at a random moment within one.

        The number is drawn so that as many kills as are left meet what is left to do; with none, the kill
        comes before the first batch, while the model loads or a kill is being made good.
        """
        self.look()
        left = len(plain.seen) - len(self.seen)
        more = moments.randint(0, max(0, 2 * left // (kills + 1)))
        wanted = len(self.seen) + more
        while process.poll() is None and len(self.seen) < wanted:
            self.look()
            time.sleep(0.01)
        pace = (plain.seconds - plain.until_first) / len(plain.seen)
        time.sleep(moments.uniform(0, pace if more else plain.until_first))
        if process.poll() is not None:
            raise InputError(
                f"the build was done with {kills} kills left; name more documents or fewer kills"
            )
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.communicate()

    def state(self) -> str:
        """What is there now."""
        self.look()
        documents = len(list(self.corpus.glob(f"{DOCUMENTS}/*/manifest.json")))
        half = len(list(self.corpus.glob(f"{DOCUMENTS}/*.parts")))
        litter = len([path for path in self.corpus.rglob("*") if path.name.endswith(".tmp")])
        listed = "" if (self.corpus / MANIFEST).exists() else " not"
        return (
            f"{documents} documents done, {half} begun, {len(self.seen)} batches written, "
            f"{litter} unfinished files, the manifest is{listed} there"
        )


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
