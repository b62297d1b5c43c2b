"""Tables of figures, each with its denominator and interval, as Markdown, CSV, JSON or LaTeX."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Format = Literal["md", "csv", "json", "latex"]
Unit = Literal["percent", "number", "seconds", "money", "count", "text"]


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure.

    Attributes:
        value: None where it does not exist or is not known; a share is in 0 to 1.
        n: what it is a mean over, its denominator; None where there is none, as for a published figure.
        low: of its 95 % interval, None without one.
        high: of its 95 % interval.
        p: of a difference, that there is none.
        text: of a cell of words.
    """

    value: float | None = None
    n: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A measure: the key that a machine reads, its title and how a value is written."""

    key: str
    title: str
    unit: Unit = "percent"


@dataclass(frozen=True, slots=True)
class Row:
    """A system or a slice: what it is, under which aggregate (official, strict, published), its cells."""

    name: str
    aggregate: str
    cells: dict[str, Cell]


@dataclass(frozen=True, slots=True)
class Table:
    """A title, columns, rows and what must be said beneath."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


def render(tables: Sequence[Table], form: Format) -> str:
    """The tables as text that ends with a line end."""
    return RENDERERS[form](tables)


def write_value(value: float, unit: Unit) -> str:
    """A figure as a reader wants it: shares in percent, seconds and money with three digits."""
    if unit == "percent":
        return f"{100 * value:.1f}"
    if unit == "count":
        return f"{value:g}"
    if unit in ("seconds", "number"):
        return f"{value:.2f}"
    return f"{value:.4g}"


def _shown(cell: Cell | None, unit: Unit) -> str:
    """`51.2 [45.0, 57.1] n=193`, an em dash for what is not there."""
    if cell is None:
        return "-"
    if unit == "text":
        return cell.text or "-"
    if cell.value is None:
        return "-" if cell.n is None else f"- n={cell.n:g}"
    parts = [write_value(cell.value, unit)]
    if cell.low is not None and cell.high is not None:
        parts.append(f"[{write_value(cell.low, unit)}, {write_value(cell.high, unit)}]")
    if cell.p is not None:
        parts.append(f"p={cell.p:.3f}")
    if cell.n is not None and unit != "count":
        parts.append(f"n={cell.n:g}")
    return " ".join(parts)


def _markdown(tables: Sequence[Table]) -> str:
    texts = []
    for table in tables:
        head = ["", "", *(column.title for column in table.columns)]
        body = [
            [row.name, row.aggregate, *(_shown(row.cells.get(c.key), c.unit) for c in table.columns)]
            for row in table.rows
        ]
        if not any(row.aggregate for row in table.rows):
            head, body = [head[0], *head[2:]], [[line[0], *line[2:]] for line in body]
        cells = [[_pipe_safe(cell) for cell in line] for line in [head, *body]]
        widths = [max(3, *map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "| " + " | ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) + " |" for line in cells
        ]
        rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
        notes = [f"\n{note}" for note in table.notes]
        texts.append("\n".join([f"### {table.title}\n", lines[0], rule, *lines[1:], *notes]) + "\n")
    return "\n".join(texts)


def _pipe_safe(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def records(tables: Sequence[Table]) -> list[dict[str, Any]]:
    """One record a cell, for a machine."""
    return [
        {
            "table": table.title,
            "system": row.name,
            "aggregate": row.aggregate,
            "measure": column.key,
            "value": cell.text if column.unit == "text" else cell.value,
            "n": cell.n,
            "low": cell.low,
            "high": cell.high,
            "p": cell.p,
        }
        for table in tables
        for row in table.rows
        for column in table.columns
        if (cell := row.cells.get(column.key)) is not None
    ]


def _csv(tables: Sequence[Table]) -> str:
    out = io.StringIO()
    fields = ("table", "system", "aggregate", "measure", "value", "n", "low", "high", "p")
    writer = csv.DictWriter(out, fields, lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _no_formula(value) for key, value in record.items()} for record in records(tables))
    return out.getvalue()


def _no_formula(value: Any) -> Any:
    """A text that a spreadsheet would compute, such as a slice of a benchmark named `=1+1`, stays a text."""
    return f"'{value}" if isinstance(value, str) and value.lstrip()[:1] in set("=+-@") else value


def _json(tables: Sequence[Table]) -> str:
    value = [
        {"title": table.title, "notes": list(table.notes), "figures": records([table])} for table in tables
    ]
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


LATEX_ESCAPES = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}


def _tex(text: str) -> str:
    return "".join(LATEX_ESCAPES.get(c, c) for c in " ".join(text.split()))


def _tex_cell(cell: Cell | None, unit: Unit) -> str:
    if cell is None or (cell.value is None and unit != "text"):
        return "--"
    if unit == "text":
        return _tex(cell.text)
    text = write_value(cell.value or 0.0, unit)
    if cell.low is not None and cell.high is not None:
        low, high = write_value(cell.low, unit), write_value(cell.high, unit)
        text += rf" {{\scriptsize [{low}, {high}]}}"
    if cell.n is not None and unit != "count":
        text += rf" {{\scriptsize $n{{=}}{cell.n:g}$}}"
    if cell.p is not None:
        text += rf" {{\scriptsize $p{{=}}{cell.p:.3f}$}}"
    return text


def _latex(tables: Sequence[Table]) -> str:
    """Tables for LaTeX's package booktabs."""
    texts = []
    for table in tables:
        head = " & ".join(["System", "Aggregate", *(_tex(column.title) for column in table.columns)])
        body = [
            " & ".join(
                [_tex(row.name), _tex(row.aggregate)]
                + [_tex_cell(row.cells.get(c.key), c.unit) for c in table.columns]
            )
            + r" \\"
            for row in table.rows
        ]
        texts.append(
            "\n".join(
                [
                    r"\begin{table}",
                    rf"\caption{{{_tex(table.title)}. {_tex(' '.join(table.notes))}}}",
                    rf"\begin{{tabular}}{{ll{'r' * len(table.columns)}}}",
                    r"\toprule",
                    head + r" \\",
                    r"\midrule",
                    *body,
                    r"\bottomrule",
                    r"\end{tabular}",
                    r"\end{table}",
                ]
            )
            + "\n"
        )
    return "\n".join(texts)


RENDERERS: dict[Format, Callable[[Sequence[Table]], str]] = {
    "md": _markdown,
    "csv": _csv,
    "json": _json,
    "latex": _latex,
}
