"""What analysts call things, how filings print them, and on which pages the primary statements stand.

The vocabulary is a table, `retrieval/finance.yaml`. It is used on documents that hold such statements and
nowhere else, so that a question about "segments" of a video is left alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from retrieval.tokens import text_terms

TITLE_LINES = 12  # a statement's heading stands among the first lines of its page
TITLE_TERMS = 16
ROW_TERMS = 22
ENOUGH_ROWS = 6  # as many of a statement's row labels make a page that statement, heading or not
AT_LEAST_ROWS = 3
BY_NAME, BY_CONCEPT = (
    1.0,
    0.7,
)  # how sure a query is of a statement it names, or of one that holds a line item


@dataclass(frozen=True, slots=True)
class Statement:
    """A primary statement: how queries and headings name it, and its typical row labels, all as terms."""

    name: str
    ask: tuple[str, ...]
    titles: tuple[str, ...]
    rows: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Concept:
    """Something an analyst asks for (`ask`, as terms), what filings print, the statements that hold it."""

    ask: tuple[str, ...]
    say: tuple[str, ...]
    statements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a query wants in a filing: `statements`, how surely (0 to 1), and phrases to add."""

    statements: Mapping[str, float]
    say: tuple[str, ...]


@lru_cache(maxsize=1)
def vocabulary() -> tuple[tuple[Statement, ...], tuple[Concept, ...]]:
    """The table of `retrieval/finance.yaml`."""
    from importlib.resources import files

    import yaml

    table = yaml.safe_load(files("retrieval").joinpath("finance.yaml").read_text(encoding="utf-8"))
    statements = tuple(
        Statement(name, _joined(row["ask"]), _joined(row["titles"]), _joined(row["rows"]))
        for name, row in table["statements"].items()
    )
    concepts = tuple(
        Concept(_joined(row["ask"]), tuple(row["say"]), tuple(row.get("in", ()))) for row in table["concepts"]
    )
    return statements, concepts


def _joined(phrases: Sequence[str]) -> tuple[str, ...]:
    return tuple(f" {' '.join(text_terms(phrase))} " for phrase in phrases)


def asked(terms: Sequence[str]) -> Asked:
    """Finds statements and concepts in a query's terms (all of them, in order)."""
    statements, concepts = vocabulary()
    query = f" {' '.join(terms)} "
    wanted: dict[str, float] = {}
    say: list[str] = []
    for concept in concepts:
        if any(name in query for name in concept.ask):
            say.extend(concept.say)
            for name in concept.statements:
                wanted[name] = max(wanted.get(name, 0.0), BY_CONCEPT)
    for statement in statements:
        if any(name in query for name in statement.ask):
            wanted[statement.name] = BY_NAME
    return Asked(wanted, tuple(dict.fromkeys(say)))


def statement_pages(pages: Sequence[Sequence[Sequence[str]]]) -> dict[str, NDArray[np.float32]]:
    """How much each page looks like each primary statement, 0 to 1.

    Args:
        pages: of each page its lines, as terms.

    Returns:
        `(n,)` scores by statement; empty where the document holds no balance sheet or no income statement.
    """
    statements, _ = vocabulary()
    found = {s.name: np.zeros(len(pages), dtype=np.float32) for s in statements}
    for i, lines in enumerate(pages):
        rows = [
            f" {' '.join(line)} "
            for line in lines
            if 1 < len(line) <= ROW_TERMS and any(t[0].isdigit() for t in line)
        ]
        if len(rows) < AT_LEAST_ROWS:
            continue
        heads = [f" {' '.join(line)} " for line in lines[:TITLE_LINES] if 1 < len(line) <= TITLE_TERMS]
        text = "".join(rows)
        for statement in statements:
            found[statement.name][i] = _likeness(statement, heads, rows, text)
    if not all(found[name].max(initial=0) >= 0.6 for name in ("balance sheet", "income statement")):
        return {}
    return found


def _likeness(statement: Statement, heads: Sequence[str], rows: Sequence[str], text: str) -> float:
    """Half for the heading, half for the row labels; a schedule of the parent company counts less."""
    labels = [label for label in statement.rows if label in text]
    count = sum(any(label in row for row in rows) for label in labels)
    titled = any(title in head for head in heads for title in statement.titles)
    if count < AT_LEAST_ROWS or not (titled or count >= ENOUGH_ROWS):
        return 0.0
    parent = any(" parent company " in head or " parent only " in head for head in heads)
    return (0.5 * titled + 0.5 * min(1.0, count / (2 * ENOUGH_ROWS))) * (0.6 if parent else 1.0)
