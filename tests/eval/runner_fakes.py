"""A worker whose answers are made up, a benchmark for it, and a runner that can be started and killed.

    python -m tests.eval.runner_fakes                    the worker
    python tests/eval/runner_fakes.py run DATA OUT ...   the runner over it, with its progress bar off

What a question says decides what comes of it; `asked.txt` in the folder of FAKE_NOTES keeps who was asked.
"""

import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
WORKER = ("tests.eval.runner_fakes",)


@dataclass
class FakeResult:
    """A row with an answer, or a failed one."""

    row: dict[str, Any]
    failure: str | None = None

    def line(self) -> str:
        """The row."""
        return json.dumps(self.row, ensure_ascii=False)


class FakeAsker:
    """Answers by what the question says."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.names = [path.name for path in paths]

    def ask(self, question: str, question_id: str = "") -> FakeResult:
        """The document's name as the answer; or a failure, an exception, a crash, a long wait."""
        first = note(question_id)
        if "slow" in question:
            time.sleep(0.05)
        if "forever" in question:
            time.sleep(3600)
        if "raises" in question:
            raise ValueError("no such thing\nas this")
        if "crashes" in question or ("dies once" in question and first):
            os._exit(7)
        row: dict[str, Any] = {"question_id": question_id, "model": "fake"}
        if "fails" in question and (first or "once" not in question):
            return FakeResult(row | {"status": "error: the reader fails"}, "the reader fails")
        parsed = {"answer": self.names[0], "predicted_pages": [1], "citations": []}
        row["trajectory"] = {"prompts": {"read": "1a2b"}}
        return FakeResult(row | {"parsed": parsed, "infer_usage": {"total_tokens": 0}, "status": "ok"})


def note(question_id: str) -> bool:
    """Writes down that a question was asked; True if it is for the first time."""
    path = Path(os.environ["FAKE_NOTES"]) / "asked.txt"
    first = question_id not in (path.read_text().splitlines() if path.exists() else [])
    with path.open("a") as file:
        file.write(f"{question_id}\n")
    return first


class Fakes:
    """Opens whatever is named, but no `broken` and no `killer`; `endless` is never open, `late` late."""

    def ready(self, config: Any) -> None:
        """Loads nothing."""

    @contextmanager
    def open(self, paths: Sequence[Path], config: Any) -> Iterator[FakeAsker]:
        """Opens documents that need not be there."""
        from indexes.errors import InputError

        if "broken" in paths[0].name:
            raise InputError(f"{paths[0].name}: no PDF")
        if "killer" in paths[0].name:
            os._exit(9)
        if "endless" in paths[0].name:
            time.sleep(3600)
        if "late" in paths[0].name:
            time.sleep(0.5)
        yield FakeAsker(paths)


def make(arguments: Sequence[str]) -> Fakes:
    """The worker; told `dies`, it does not come so far."""
    if "dies" in arguments:
        os._exit(3)
    return Fakes()


def write_benchmark(data: Path, questions: Sequence[tuple[str, str]]) -> Path:
    """A FinanceBench of (document, question); ids are q0, q1, ..."""
    (data / "pdfs").mkdir(parents=True, exist_ok=True)
    rows = [
        {
            "financebench_id": f"q{i}",
            "doc_name": document,
            "question": question,
            "answer": f"{document}.pdf",
            "evidence": [{"evidence_page_num": 0, "doc_name": document, "evidence_text": "x"}],
        }
        for i, (document, question) in enumerate(questions)
    ]
    (data / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return data


def main() -> int:
    """Worker or runner."""
    from eval.job import Job
    from eval.run import run

    data, out, *rest = sys.argv[2:]
    run(Job("financebench", Path(data), Path(out), workers=int(rest[0]) if rest else 2, worker=WORKER))
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parents[2]))
    if sys.argv[1:2] == ["run"]:
        from indexes.errors import run_command

        run_command(main)
    else:
        from eval.worker import serve

        serve(make(sys.argv[1:]))
