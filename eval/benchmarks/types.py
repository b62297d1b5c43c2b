"""What a benchmark's loader yields: one `Question` type, whatever the source looks like.

Page bases and boxes are converted by the loaders and nowhere else: pages are 1-based physical pages. A row
that is broken is kept, with what is wrong with it in `problems`, so that it can be counted.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Question:
    """A question of a benchmark with its gold answer.

    Attributes:
        id: unique within the benchmark and stable between runs.
        documents: the PDFs or folders of page images it asks about, at least one.
        answer: the gold answer as the benchmark writes it.
        answer_format: the benchmark's own name of the format; empty where it has none.
        gold_pages: 1-based physical pages that hold the evidence, sorted, without repetition.
        answerable: False where the benchmark says that the documents do not tell.
        slices: the breakdowns the benchmark reports, name to values.
        problems: what is wrong with the row, one line each; empty for a sound row.
    """

    id: str
    question: str
    documents: tuple[Path, ...]
    answer: str
    answer_format: str
    gold_pages: tuple[int, ...]
    answerable: bool
    slices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
