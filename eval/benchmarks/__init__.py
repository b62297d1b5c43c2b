"""Loaders, one benchmark a file, and the table that names them."""

import difflib
from dataclasses import replace
from pathlib import Path

from eval.benchmarks.docscope import DOCSCOPE
from eval.benchmarks.documents import page_count_problems
from eval.benchmarks.financebench import FINANCEBENCH
from eval.benchmarks.longdocurl import LONGDOCURL
from eval.benchmarks.mmlongbench import V1, V2
from eval.benchmarks.types import Benchmark, GoldFact, GoldRegion, Question, Source
from eval.benchmarks.xldocbench import XLDOCBENCH
from indexes.errors import InputError

__all__ = [
    "BENCHMARKS",
    "Benchmark",
    "GoldFact",
    "GoldRegion",
    "Question",
    "Source",
    "find_benchmark",
    "load",
]

BENCHMARKS: dict[str, Benchmark] = {
    "docscope": DOCSCOPE,
    "mmlongbench-v1": V1,
    "mmlongbench-v2": V2,
    "longdocurl": LONGDOCURL,
    "xldocbench": XLDOCBENCH,
    "financebench": FINANCEBENCH,
}


def find_benchmark(name: str) -> Benchmark:
    """The benchmark of that name.

    Raises:
        InputError: there is none; the line names the nearest.
    """
    if name in BENCHMARKS:
        return BENCHMARKS[name]
    near = difflib.get_close_matches(name.lower(), BENCHMARKS, 1, 0.5)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(BENCHMARKS)}"
    raise InputError(f"no benchmark {name!r}; {hint}")


def load(name: str, data: Path, split: str | None = None, pdfs: Path | None = None) -> list[Question]:
    """A benchmark's questions, in the order of its files.

    Args:
        name: as in `BENCHMARKS`.
        data: the folder with the benchmark's files as its authors publish them.
        split: only the questions of that part.
        pdfs: the folder of the documents, where it is not the benchmark's own within `data`.

    Raises:
        InputError: an unknown name or split, or data that is not there or cannot be read.
    """
    benchmark = find_benchmark(name)
    if pdfs is not None and not pdfs.is_dir():
        raise InputError(f"{pdfs}: no such folder; --pdfs names the folder in which the documents lie")
    source = Source(data, pdfs or data / benchmark.folder)
    questions = list(benchmark.read(source))
    if split is not None:
        splits = sorted({question.split for question in questions} - {""})
        if split not in splits:
            raise InputError(f"{name} has no split {split!r}; it has {', '.join(splits) or 'no splits'}")
        questions = [question for question in questions if question.split == split]
    found = page_count_problems(questions)
    return [
        replace(q, problems=q.problems + more) if more else q
        for q, more in zip(questions, found, strict=True)
    ]
