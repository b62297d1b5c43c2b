"""`python -m eval.run`: asks a benchmark's questions and leaves a run folder that can be scored and resumed.

from eval.job import Job
from eval.run import run
outcome = run(Job("mmlongbench-v2", Path("data/mmlongbench"), Path("runs/mmlongbench")))
"""

import argparse
import difflib
import json
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eval.job import Job, add_job, job_of
from indexes.errors import CommandParser, InputError, one_line, run_command

if TYPE_CHECKING:
    from agent.config import Config
    from eval.benchmarks.types import Question
    from eval.runs import RunFolder
    from eval.workers import Answered

EXAMPLES = """\
examples:
  python -m eval.run --benchmark mmlongbench-v2 --data data/mmlongbench --out runs/mmlongbench
      every question by the config `cpu`; a worker process a core
  python -m eval.run --benchmark docscope --data data/docscope --split dev --limit 20 --out runs/try
      the first 20 questions of a split; run again without --limit, the run goes on to the others
  python -m eval.run --benchmark financebench --data data/financebench --out runs/financebench --retry-failed
      the same command after a kill goes on where it was; with --retry-failed failed questions are asked again

The run folder holds infer.jsonl (DocScope rows with our trajectory), config.yaml, manifest.json, ids.txt and
log.txt. Score it with: python -m eval.score RUN
With --ray the machines of the cluster need the documents at the same paths and a shared PAGETRAIL_CACHE.
exit codes: 0 every question was asked (failed ones are rows with their reason), 2 something you can put
right, 130 interrupted
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a sitting did.

    Attributes:
        asked_for: questions in all.
        before: rows that were there.
        new: rows that came.
        failed: rows of all that say that their questions failed.
        broken: questions whose gold or document has a problem, which `log.txt` tells.
    """

    asked_for: int
    before: int
    new: int
    failed: int
    broken: int = 0


def run(job: Job) -> Outcome:
    """Asks the questions that have no row yet.

    Raises:
        InputError: something that the user can put right; what was finished is kept.
    """
    from agent.config import load_config
    from eval.benchmarks import load
    from eval.digest import data_digest
    from eval.identity import Identity
    from eval.manifest import sitting
    from eval.runs import open_run

    config = load_config(job.config)
    questions = load(job.benchmark, job.data, split=job.split, pdfs=job.pdfs)
    chosen = select(questions, job.limit, job.ids)
    name = job.benchmark if job.split is None else f"{job.benchmark}/{job.split}"
    identity = Identity(name, data_digest(questions), config.model_dump())
    with open_run(job.out, identity) as folder:
        folder.select([q.id for q in chosen], [q.id for q in questions])
        before = folder.take_up([q.id for q in chosen], retry_failed=job.retry_failed)
        waiting = [q for q in chosen if q.id not in folder.entries]
        workers = job.workers or default_workers(config)
        folder.begin(sitting(workers, job.ray), _facts(job, questions, config))
        for question in chosen if not before else ():
            if question.problems:
                folder.log(f"problem of {question.id}: {'; '.join(question.problems)}")
        try:
            _ask(job, folder, config, waiting, workers)
        finally:
            folder.end(asked=len(folder.entries) - before)
        folder.sort([q.id for q in questions])
        failed = sum(folder.entries[q.id].failed for q in chosen)
        return Outcome(
            len(chosen), before, len(folder.entries) - before, failed, sum(bool(q.problems) for q in chosen)
        )


def select(
    questions: Sequence["Question"], limit: int | None, ids: Sequence[str] | None
) -> Sequence["Question"]:
    """The questions of these ids, the first `limit` of them.

    Raises:
        InputError: an id that no question has, or nothing to ask.
    """
    if ids is not None:
        known = {q.id for q in questions}
        for name in ids:
            if name not in known:
                close = difflib.get_close_matches(name, known, n=1)
                hint = f"; did you mean {close[0]!r}?" if close else ""
                raise InputError(f"no question has the id {name!r}{hint}")
        wanted = set(ids)
        questions = [q for q in questions if q.id in wanted]
    if not questions:
        raise InputError("there is no question to ask; check --ids and the data")
    return questions[:limit]


def default_workers(config: "Config") -> int:
    """One where every worker would load a model of its own, else one a core."""
    local_reader = config.reader_model is not None and config.endpoint is None
    return 1 if config.encoder_model or local_reader else max(1, os.cpu_count() or 1)


def question_limit(config: "Config") -> float:
    """Seconds after which a question's worker hangs; far beyond its budget, as a last step may be long."""
    return max(1800.0, 20 * config.max_seconds)


def _facts(job: Job, questions: Sequence["Question"], config: "Config") -> dict[str, Any]:
    """What the manifest says of benchmark and config."""
    return {
        "benchmark": {
            "name": job.benchmark,
            "split": job.split,
            "data": str(job.data.absolute()),
            "pdfs": None if job.pdfs is None else str(job.pdfs.absolute()),
            "questions": len(questions),
            "with_problems": sum(bool(q.problems) for q in questions),
        },
        "config": {"name": config.name or "custom", "digest": config.digest},
    }


def _ask(
    job: Job, folder: "RunFolder", config: "Config", waiting: Sequence["Question"], workers: int
) -> None:
    from eval.progress import Progress
    from eval.runs import LOG
    from eval.workers import Crew

    setting = {"config": config.model_dump(), "name": config.name}
    with ExitStack() as stack:
        errors = stack.enter_context((folder.path / LOG).open("a", encoding="utf-8"))
        progress = stack.enter_context(Progress(job.benchmark, folder, len(waiting), job.quiet))
        if job.ray is not None:
            from eval.remote import run_remote

            answers = run_remote(job.ray, job.worker, setting, waiting, quiet=job.quiet)
        else:
            limit = question_limit(config)
            crew = Crew(
                workers,
                setting,
                folder.log,
                errors,
                limit=limit,
                open_limit=job.open_seconds,
                worker=job.worker,
            )
            answers = crew.run(waiting)
        model, told = f"pagetrail/{config.name or 'custom'}", False
        for answered in stack.enter_context(closing(answers)):
            line = answered.line or _error_row(answered, model)
            if answered.failed:
                reason = answered.reason or json.loads(line)["status"]
                folder.log(f"failed {answered.question.id}: {reason}")
            folder.append(answered.question.id, line, answered.failed)
            if not told:
                told = _tell_prompts(folder, line)
            progress.add(answered, line)


def _tell_prompts(folder: "RunFolder", line: bytes) -> bool:
    """Puts the hashes of the reader's prompts into the manifest; False where the row does not tell them."""
    prompts = json.loads(line).get("trajectory", {}).get("prompts")
    if prompts is None:
        return False
    folder.note(prompts=prompts)
    return True


def _error_row(answered: "Answered", model: str) -> bytes:
    """The row of a question that could not be asked."""
    row = {
        "question_id": answered.question.id,
        "model": model,
        "status": f"error: {one_line(answered.reason)}",
    }
    return json.dumps(row, ensure_ascii=False).encode("utf-8", "backslashreplace")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = CommandParser(
        "python -m eval.run",
        "Asks a benchmark's questions; leaves a run folder that can be resumed.",
        EXAMPLES,
    )
    add_job(made, "RUN", "the run folder, new or begun")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    options = parser().parse_args(argv)
    job = job_of(options)
    outcome = run(job)
    if not options.quiet:
        sys.stderr.write(
            f"{options.out}: {outcome.new} asked, {outcome.before} were there, {outcome.failed} failed of "
            f"{outcome.asked_for}; score it with: python -m eval.score {options.out}\n"
        )
        if outcome.broken:
            sys.stderr.write(f"{outcome.broken} questions have problems in the benchmark; see log.txt\n")
    return 0


if __name__ == "__main__":
    run_command(main)
