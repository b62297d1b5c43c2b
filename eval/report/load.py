"""What a report is made of, read from run folders and sweeps."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.benchmarks import load
from eval.benchmarks.types import Question
from eval.identity import MANIFEST, read_manifest
from eval.report.build import Entry
from eval.rows import RowReader
from eval.runs import ROWS
from eval.scoring import ScoredRun
from eval.sources import run_source, score_source
from eval.sweep import Setting, Sweep, is_sweep, read_sweep
from indexes.errors import InputError

if TYPE_CHECKING:
    from eval.judge import Judge


@dataclass(frozen=True, slots=True)
class LoadedRun:
    """A run, scored, with its questions by id and what its manifest says."""

    path: Path
    run: ScoredRun
    questions: Mapping[str, Question]
    manifest: Mapping[str, Any]

    def entries(self) -> list[Entry]:
        """The questions with their rows, in the benchmark's order."""
        wanted = {one.outcome.id for one in self.run.scored}
        rows: dict[str, Mapping[str, Any]] = {}
        for row in RowReader(self.path / ROWS):
            if row["question_id"] in wanted:
                rows.setdefault(row["question_id"], row)  # the one that was scored
        return [
            Entry(self.questions[one.outcome.id], one.outcome, rows.get(one.outcome.id))
            for one in self.run.scored
        ]

    def facts(self) -> list[tuple[str, str]]:
        """What was run on what."""
        told, config = self.manifest["benchmark"], self.manifest.get("config")
        named = f"{config.get('name')} ({config.get('digest')})" if isinstance(config, dict) else "not told"
        sittings = self.manifest["sittings"]
        made = [
            ("Benchmark", told["name"] + (f", {told['split']}" if told["split"] else "")),
            ("Questions", f"{len(self.run.scored)} of {self.run.known}"),
            ("Config", named),
            ("Started", str(self.manifest.get("started"))),
            ("Ended", str(self.manifest.get("ended") or "not yet")),
        ]
        revision = sittings[-1].get("revision") if sittings else None
        if revision:
            made.append(("Revision", str(revision)))
        return made + [(f"{key.capitalize()} scored by", name) for key, name in self.run.names.items()]


@dataclass(frozen=True, slots=True)
class Gold:
    """What runs are scored by.

    Attributes:
        data: the benchmark, if not where the runs had it.
        pdfs: its documents, if not within `data`.
        judge: a model that judges; rules by default.
    """

    data: Path | None = None
    pdfs: Path | None = None
    judge: "Judge | None" = None


def benchmark_of(path: Path) -> str:
    """The benchmark of a run or a sweep.

    Raises:
        InputError: there is neither.
    """
    folder = path / read_sweep(path).settings[0].folder if is_sweep(path) else path
    return run_source(folder).benchmark


def load_run(path: Path, gold: Gold) -> LoadedRun:
    """Reads and scores a run.

    Raises:
        InputError: there is no run, or its data are not there or others.
    """
    source = run_source(path, gold.data, gold.pdfs)
    questions = load(source.benchmark, source.data, split=source.split, pdfs=source.pdfs)
    return LoadedRun(
        path, score_source(source, gold.judge), {q.id: q for q in questions}, read_manifest(path)
    )


def load_sweep(path: Path, gold: Gold) -> tuple[Sweep, list[tuple[Setting, LoadedRun]]]:
    """Reads and scores the runs of a sweep; each is called by its setting.

    Raises:
        InputError: as `load_run`, or there is no sweep.
    """
    sweep = read_sweep(path)
    runs = []
    for setting in sweep.settings:
        if not (path / setting.folder / MANIFEST).is_file():
            raise InputError(f"{path}: {setting.folder} was not run yet; give the sweep's command again")
        loaded = load_run(path / setting.folder, gold)
        runs.append((setting, replace(loaded, run=replace(loaded.run, name=setting.name))))
    return sweep, runs
