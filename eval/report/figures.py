"""Plots as SVG: told apart by markers and dashes and not by colour, with intervals, always the same bytes."""

import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from eval.tables import Cell
from indexes.errors import InputError
from indexes.plain import plain

WIDTH, HEIGHT = 6.4, 3.4  # inches
_STYLES = (
    ("#000000", "-", "o"),
    ("#777777", "--", "s"),
    ("#444444", ":", "^"),
    ("#999999", "-.", "D"),
    ("#222222", (0, (5, 1)), "v"),
    ("#666666", (0, (1, 1)), "P"),
)
_SETTINGS: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "pagetrail",
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": "#dddddd",
    "axes.axisbelow": True,
    "legend.frameon": False,
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot: the name of its file, what it shows in words, and the SVG."""

    name: str
    alt: str
    svg: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a plot: values over the axis, None where there is none."""

    name: str
    cells: Sequence[Cell | None]


@contextmanager
def _axes(ylabel: str, xlabel: str) -> Iterator[tuple[Any, Any]]:
    """A figure and its axes, drawn without a screen.

    Raises:
        InputError: matplotlib is not installed.
    """
    try:
        import matplotlib
        from matplotlib.figure import Figure as Canvas
    except ModuleNotFoundError as error:
        raise InputError(
            f"{error.name} is not installed, which draws the plots; pip install 'pagetrail[analysis]'"
        ) from error
    with matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # a script of a slice's name that the font lacks is the viewer's to draw
        canvas = Canvas(figsize=(WIDTH, HEIGHT), layout="constrained")
        axes = canvas.subplots()
        axes.set_ylabel(ylabel)
        axes.set_xlabel(xlabel)
        yield canvas, axes


def _svg(canvas: Any) -> str:
    out = io.StringIO()
    canvas.savefig(out, format="svg", metadata={"Date": None, "Creator": "pagetrail"})
    text = out.getvalue()
    return text[text.index("<svg") :]


def _label(text: str, limit: int = 28) -> str:
    return plain(text, limit)


def line_plot(
    name: str, alt: str, xs: Sequence[Any], lines: Sequence[Line], *, labels: tuple[str, str]
) -> Figure:
    """Lines with intervals.

    Args:
        name: of the file, without its ending.
        alt: what is shown, in words.
        xs: the places on the axis: numbers, or names in their order.
        lines: as many cells as places each.
        labels: of the axes, x and y.
    """
    numeric = all(isinstance(x, int | float) and not isinstance(x, bool) for x in xs)
    places = [float(x) for x in xs] if numeric else [float(i) for i in range(len(xs))]
    step = min((b - a for a, b in zip(places, places[1:], strict=False)), default=1.0)
    with _axes(labels[1], labels[0]) as (canvas, axes):
        for number, line in enumerate(lines):
            colour, dash, marker = _STYLES[number % len(_STYLES)]
            shift = 0.04 * step * (number - (len(lines) - 1) / 2)
            known = [
                (x + shift, c) for x, c in zip(places, line.cells, strict=True) if c and c.value is not None
            ]
            axes.errorbar(
                [x for x, _ in known],
                [cell.value for _, cell in known],
                yerr=_spread([cell for _, cell in known]),
                color=colour,
                linestyle=dash,
                marker=marker,
                markersize=4.5,
                capsize=2,
                linewidth=1.4,
                elinewidth=0.8,
                label=_label(line.name, 60),
            )
        axes.set_xticks(places, [_label(str(x), 16) for x in xs])
        axes.set_ylim(bottom=0)
        if len(lines) > 1:
            axes.legend(fontsize=8.5)
        return Figure(name, alt, _svg(canvas))


def bar_plot(
    name: str, alt: str, names: Sequence[str], cells: Sequence[Cell], *, ylabel: str, xlabel: str = ""
) -> Figure:
    """Bars with intervals; beneath each its name and, where the cell has one, its denominator."""
    with _axes(ylabel, xlabel) as (canvas, axes):
        places = list(range(len(names)))
        heights = [0.0 if cell.value is None else cell.value for cell in cells]
        axes.bar(
            places,
            heights,
            color="#bbbbbb",
            edgecolor="#000000",
            linewidth=0.8,
            width=0.7,
            yerr=_spread(cells),
            capsize=3,
            error_kw={"elinewidth": 0.9},
        )
        marks = [
            _label(n) + (f"\nn={c.n:g}" if c.n is not None else "") for n, c in zip(names, cells, strict=True)
        ]
        axes.set_xlim(-0.6, max(len(names) - 0.4, 3.4))
        axes.set_xticks(places, marks, fontsize=8 if len(names) <= 6 else 7)
        return Figure(name, alt, _svg(canvas))


def step_plot(
    name: str,
    alt: str,
    curves: Sequence[tuple[str, Sequence[float], Sequence[float]]],
    *,
    labels: tuple[str, str],
) -> Figure:
    """Curves over 0 to 1: name, x values and y values each."""
    with _axes(labels[1], labels[0]) as (canvas, axes):
        for number, (title, xs, ys) in enumerate(curves):
            colour, dash, _ = _STYLES[number % len(_STYLES)]
            axes.plot(xs, ys, color=colour, linestyle=dash, linewidth=1.5, label=_label(title, 60))
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1.02)
        if len(curves) > 1:
            axes.legend(fontsize=8.5)
        return Figure(name, alt, _svg(canvas))


def _spread(cells: Sequence[Cell]) -> list[list[float]] | None:
    """How far the intervals reach below and above the values; None where no cell has one."""
    if all(cell.low is None for cell in cells):
        return None
    below, above = [], []
    for cell in cells:
        value = cell.value or 0.0
        below.append(max(0.0, value - cell.low) if cell.low is not None else 0.0)
        above.append(max(0.0, cell.high - value) if cell.high is not None else 0.0)
    return [below, above]
