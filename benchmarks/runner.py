"""What the runner costs beside the agent, and what scoring costs.

    python benchmarks/runner.py overhead               # a question's overhead with two workers
    python benchmarks/runner.py scoring                # 10,000 saved rows scored by rules

`overhead` runs a made-up benchmark with workers that answer at once: all that passes is the runner's time.
Rows are as large as those of the `cpu` agent. `scoring` writes rows for a made-up benchmark, runs
`python -m eval.score` on them in a process of its own and reports its time and its largest memory.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:] = [  # a script beside this one is named like a package
    str(HERE.parent),
    *(p for p in sys.path if Path(p or ".").resolve() != HERE),
]

WORKER = ("benchmarks.runner", "worker")
RETRIEVED, FACTS, ROUNDS = 10, 12, 3


@dataclass(frozen=True)
class AtOnce:
    """An answer that took no time."""

    text: str
    failure: str | None = None

    def line(self) -> str:
        """The row."""
        return self.text


class Asker:
    """Answers at once with a row as long as the agent's."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.doc_id = paths[0].stem

    def ask(self, question: str, question_id: str = "") -> AtOnce:
        """A row."""
        return AtOnce(json.dumps(made_row(question_id, self.doc_id, question, int(question_id[1:]))))


def made_row(question_id: str, doc_id: str, question: str, number: int) -> dict[str, Any]:
    """A row of the agent's size and shape."""
    page = number % 40 + 1
    box = [0.1, 0.2, 0.9, 0.24]
    usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0, "calls": 0, "cost": 0.0}
    retrieved = [
        {"doc": doc_id, "page": (page + 3 * r) % 40 + 1, "rank": r + 1, "score": 0.1, "matched": ["bm25"],
         "regions": [box] * 3}
        for r in range(RETRIEVED)
    ]  # fmt: skip
    rounds = [
        {"round": r + 1, "queries": [question], "retrieved": retrieved, "facts": ["f1"], "dropped": [],
         "read": [{"doc": doc_id, "page": page + r}], "missing": [], "decision": None, "errors": [],
         "notes": [], "seconds": 0.1, "usage": usage}
        for r in range(ROUNDS)
    ]  # fmt: skip
    facts = [
        {"id": f"f{i + 1}", "text": f"Net sales, 2022: $34,{i:03} million " * 3, "quote": "Net sales",
         "regions": [{"doc": doc_id, "page": page, "label": "1", "bbox": box}] * 2, "support": "exact",
         "round": 1, "score": 0.5, "part": 0}
        for i in range(FACTS)
    ]  # fmt: skip
    citation = {"page": page, "doc_page": "1", "bbox": box, "sentence": "Net sales were $34,229 million",
                "span_start": 0, "span_end": 60, "is_normalized": True}  # fmt: skip
    answer = "Unanswerable" if number % 4 == 0 else f"{number * 7 % 1000:,} million"
    parsed = {"answer": answer, "reasoning": "", "citations": [citation], "invalid_citations": [],
              "predicted_pages": [page], "has_answer_tag": True, "sentence_splitter": "regex"}  # fmt: skip
    trajectory = {"format": 2, "question": question, "documents": [{"doc": doc_id, "pages": 40}],
                  "rounds": rounds, "facts": facts, "stop_reason": "answered", "failure": None,
                  "answer": {"text": answer, "fact_ids": ["f1"], "confidence": 0.5},
                  "timings": {"total": 0.4}, "usage": usage}  # fmt: skip
    return {"question_id": question_id, "model": "made", "model_raw": f"<answer> {answer} </answer>",
            "thinking": "", "parsed": parsed, "infer_usage": usage, "status": "ok",
            "trajectory": trajectory}  # fmt: skip


class Opener:
    """Opens nothing."""

    def ready(self, config: Any) -> None:
        """Loads nothing."""

    @contextmanager
    def open(self, paths: Sequence[Path], config: Any) -> Iterator[Asker]:
        """What answers at once."""
        yield Asker(paths)


def make(arguments: Sequence[str]) -> Opener:
    """What the runner's workers run."""
    return Opener()


def write_benchmark(data: Path, questions: int, documents: int) -> None:
    """A FinanceBench of made-up questions; its documents are not there."""
    data.mkdir(parents=True, exist_ok=True)
    with (data / "questions.jsonl").open("w") as file:
        for i in range(questions):
            name = f"report{i % documents}"
            evidence = {"evidence_page_num": i % 40, "doc_name": name, "evidence_text": "Net sales"}
            row = {"financebench_id": f"q{i}", "doc_name": name, "question": f"What were net sales {i}?",
                   "answer": f"{i * 7 % 1000:,} million", "evidence": [evidence]}  # fmt: skip
            file.write(json.dumps(row) + "\n")


def overhead(questions: int, workers: int) -> str:
    """Seconds a question that the runner takes where the agent takes none."""
    from eval.job import Job
    from eval.run import run

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        times = []
        for number in (workers, questions):  # the first run is start and end alone
            write_benchmark(folder / f"data{number}", number, 20)
            job = Job(
                "financebench",
                folder / f"data{number}",
                folder / f"run{number}",
                workers=workers,
                worker=WORKER,
            )
            start = time.perf_counter()
            run(job)
            times.append(time.perf_counter() - start)
        size = (folder / f"run{questions}/infer.jsonl").stat().st_size / questions
    each = 1000 * (times[1] - times[0]) / (questions - workers)
    return (
        f"{questions} questions, {workers} workers, rows of {size / 1024:.0f} KiB: {each:.2f} ms a question, "
        f"{times[0]:.2f} s to start and end\n"
    )


def scoring(questions: int) -> str:
    """Seconds and memory that scoring saved rows takes."""
    from eval.job import Job
    from eval.run import run

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_benchmark(folder / "data", questions, 200)
        run(Job("financebench", folder / "data", folder / "run", workers=2, worker=WORKER))
        size = (folder / "run/infer.jsonl").stat().st_size / 2**20
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "eval.score", str(folder / "run")],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=HERE.parent,
        )
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return f"{questions} rows of {size:.0f} MiB: scored in {seconds:.1f} s, at most {peak:.0f} MiB\n"


def main() -> int:
    """Measures, or serves as a worker."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("overhead", "scoring", "worker"))
    parser.add_argument("--questions", type=int)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    if options.what == "worker":
        from eval.worker import serve

        serve(make(()))
    elif options.what == "overhead":
        sys.stdout.write(overhead(options.questions or 2000, options.workers))
    else:
        sys.stdout.write(scoring(options.questions or 10_000))
    return 0


if __name__ == "__main__":
    from indexes.errors import run_command

    run_command(main)
