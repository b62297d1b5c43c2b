"""Where predictions come from: a run folder or a file; scored beside the gold, by rules or by a judge."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from eval.benchmarks import Question, load
from eval.digest import data_digest
from eval.exports import Prediction, from_row, read_predictions
from eval.identity import read_manifest
from eval.rows import RowReader
from eval.rules import Rules
from eval.runs import IDS, ROWS, read_ids
from eval.scoring import Judging, ScoredRun, score, score_rows
from eval.trajectories import told
from indexes.errors import InputError

if TYPE_CHECKING:
    from eval.judge import Judge


@dataclass(frozen=True, slots=True)
class Source:
    """Whose predictions, on what.

    Attributes:
        path: a run folder, or a file of predictions.
        benchmark: its name.
        data: its folder.
        ids: the questions asked for; None: all.
    """

    path: Path
    benchmark: str
    data: Path
    pdfs: Path | None = None
    split: str | None = None
    ids: tuple[str, ...] | None = None
    digest: str | None = None


def run_source(path: Path, data: Path | None = None, pdfs: Path | None = None) -> Source:
    """What a run folder says of itself.

    Raises:
        InputError: there is no run, or its data are not where they were.
    """
    manifest = read_manifest(path)
    told = manifest.get("benchmark")
    if not isinstance(told, dict):
        raise InputError(f"{path}: the run was never begun; run python -m eval.run again")
    folder = data or Path(told["data"])
    if not folder.is_dir():
        raise InputError(f"{path}: its data are not at {folder} any more; name them with --data DIR")
    given = pdfs or (Path(told["pdfs"]) if told["pdfs"] and data is None else None)
    if pdfs is None and given is not None and not given.is_dir():
        given = None  # documents that are gone are problems of questions, as in their own folder
    ids = tuple(read_ids(path))
    if not ids:  # nobody knows which rows are missing
        raise InputError(f"{path}: no {IDS} there, or an empty one; run python -m eval.run again")
    return Source(path, told["name"], folder, given, told["split"], ids, manifest["identity"]["data"])


def score_source(source: Source, judge: "Judge | None" = None, workers: int = 4) -> ScoredRun:
    """Scores a run or predictions; by rules, if no judge is given.

    Args:
        source: what to score.
        judge: a model that judges; its verdicts are kept, those that it owes are asked for first.
        workers: requests to it side by side.

    Raises:
        InputError: the data cannot be loaded or are not those of the run, or there is nothing to score.
    """
    if source.path.is_dir() and source.digest is None and not (source.path / ROWS).is_file():
        raise InputError(f"{source.path}: no {ROWS} there; name a run folder or a file of predictions")
    everything = _everything(source)
    wanted = None if source.ids is None else set(source.ids)
    questions = [q for q in everything if wanted is None or q.id in wanted]
    judging: Judging = judge or Rules(source.benchmark)
    if judge is not None:
        judge.prepare(_pairs(source, questions), workers)
    run = _score_run if source.path.is_dir() else _score_file
    scored = run(source, questions, judging)
    scored = replace(scored, known=len(everything))
    if judge is None:
        return scored
    failures = tuple(
        f"{f.question_id} ({f.kind}{f', page {f.page}' if f.page else ''}): {f.reason}"
        for f in judge.failures
    )
    return replace(scored, failures=failures, judge=judge.pinned)


def _everything(source: Source) -> list[Question]:
    """The questions of the data, which must be those of the run."""
    questions = load(source.benchmark, source.data, split=source.split, pdfs=source.pdfs)
    if source.digest is not None and data_digest(questions) != source.digest:
        raise InputError(f"{source.path}: {source.data} holds other questions or gold than the run's data")
    return questions


def _pairs(source: Source, questions: Sequence[Question]) -> Iterator[tuple[Question, Prediction]]:
    """What there is to judge, without the rows, which are large."""
    known = {question.id: question for question in questions}
    if not source.path.is_dir():
        found = read_predictions(source.benchmark, source.path, questions).predictions
        yield from ((question, found[question.id]) for question in questions)
        return
    for row in RowReader(source.path / ROWS):
        question = known.pop(str(row["question_id"]), None)
        if question is not None:
            yield question, replace(from_row(question, row), row={})


def _score_run(source: Source, questions: Sequence[Question], judging: Judging) -> ScoredRun:
    rows = RowReader(source.path / ROWS)
    scored, strange, repeated = score_rows(questions, rows, judging)
    return ScoredRun(
        source.path.name or str(source.path),
        source.benchmark,
        tuple(scored),
        judging.names,
        strange=tuple(strange),
        repeated=tuple(repeated),
        broken=rows.broken,
    )


def _score_file(source: Source, questions: Sequence[Question], judging: Judging) -> ScoredRun:
    found = read_predictions(source.benchmark, source.path, questions)
    scored = [score(q, (p := found.predictions[q.id]), judging, told(p.row, q.documents)) for q in questions]
    return ScoredRun(
        source.path.stem,
        source.benchmark,
        tuple(scored),
        judging.names,
        strange=found.unknown,
        repeated=found.duplicates,
        broken=len(found.broken),
    )
