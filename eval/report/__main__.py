"""`python -m eval.report`: a run, a sweep or one answer as an HTML page."""

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from indexes.cache import write_atomic
from indexes.errors import CommandParser, InputError, run_command

if TYPE_CHECKING:
    from eval.report.build import Entry
    from eval.report.load import Gold
    from eval.report.pictures import Mode, PictureStore
    from eval.report.sections import Section

EXAMPLES = """\
examples:
  python -m eval.report runs/mmlongbench
      runs/mmlongbench/report.html: tables, plots, and every question with its rounds, pages, boxes and facts
  python -m eval.report runs/rounds --markdown docs/rounds.md
      a sweep of python -m eval.ablate; also its tables as Markdown, with the plots in a folder beside it
  python -m eval.report --trajectory answer/answer.json report.pdf
      one answer of python -m agent.answer --out

The page needs no network and works from file://. Up to 400 pages are in it as small pictures; of more, the
pictures lie in a folder beside it, named after it (--pictures embed, beside or none decide otherwise).
needs the extra `analysis` for its plots: pip install pagetrail[analysis]
"""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = CommandParser(
        "python -m eval.report", "Shows a run, a sweep or an answer as an HTML page.", EXAMPLES
    )
    made.add_argument("run", nargs="?", type=Path, metavar="RUN", help="the folder of a run or a sweep")
    made.add_argument(
        "--trajectory", nargs="+", type=Path, metavar="FILE", help="answer.json and its documents, instead"
    )
    made.add_argument("--out", type=Path, metavar="FILE", help="the HTML file (default: report.html in RUN)")
    made.add_argument(
        "--markdown", type=Path, metavar="FILE", help="also the tables and plots, without questions"
    )
    made.add_argument("--pictures", choices=("auto", "embed", "beside", "none"), default="auto")
    made.add_argument("--data", type=Path, metavar="DIR", help="the benchmark, if not where the run had it")
    made.add_argument("--pdfs", type=Path, metavar="DIR", help="its documents, if not in DIR of --data")
    made.add_argument("--judge", metavar="CONFIG", help="as of python -m eval.score; verdicts are kept")
    made.add_argument("--judge-regions", metavar="CONFIG", help="as of python -m eval.score")
    made.add_argument("--judge-prompts", type=Path, metavar="DIR", help="as of python -m eval.score")
    made.add_argument("--quiet", action="store_true", help="no progress on stderr")
    return made


def report(
    path: Path, out: Path, *, pictures: "Mode" = "auto", gold: "Gold | None" = None, quiet: bool = True
) -> "list[Section]":
    """Writes the page of a run or a sweep.

    Args:
        path: its folder.
        out: the HTML file.
        pictures: where those of pages go.
        gold: what it is scored by; by default the data that the run had, and rules.
        quiet: no progress bar.

    Returns:
        The sections.

    Raises:
        InputError: there is no run, its data are not there, or something cannot be written.
    """
    from eval.report.build import build
    from eval.report.load import Gold, load_run, load_sweep
    from eval.report.pictures import PictureStore
    from eval.report.rounds import round_section
    from eval.report.sections import Section, analyses
    from eval.report.sweeps import longest, sweep_sections
    from eval.sweep import is_sweep

    gold = gold or Gold()
    if is_sweep(path):
        sweep, runs = load_sweep(path, gold)
        shown, title = longest(runs), sweep.title
        sections = sweep_sections(sweep, runs)
    else:
        from eval.comparing import measure, tables_of

        shown, title = load_run(path, gold), path.resolve().name
        figures = replace(measure(shown.run), rounds=None)
        sections = [Section("Figures", "", tuple(tables_of([figures])))]
        rounds = round_section(shown.run)
        sections += [rounds] if rounds else []
    sections += analyses(shown.run)
    entries = shown.entries()
    store = PictureStore(out.with_name(f"{out.stem}_files"), pictures, quiet=quiet)
    _render(entries, store)
    text = build(f"{shown.manifest['benchmark']['name']}: {title}", shown.facts(), sections, entries, store)
    write_atomic(out, text.encode("utf-8", "backslashreplace"))
    return sections


def _render(entries: "Sequence[Entry]", store: "PictureStore") -> None:
    """Makes the pictures of the pages that the questions show, each once."""
    from eval.report.build import wanted_pages
    from indexes.files import document_id

    wanted: dict[Path, dict[int, None]] = {}
    for entry in entries:
        paths = {document_id(path): path for path in entry.question.documents}
        for ref in wanted_pages(entry):
            if ref.doc_id in paths:
                wanted.setdefault(paths[ref.doc_id], {})[ref.page] = None
    store.render({path: sorted(numbers) for path, numbers in wanted.items()})


def write_markdown(path: Path, title: str, sections: "Sequence[Section]") -> None:
    """Writes sections as Markdown, with the plots as SVG in the folder `<stem>_files` beside it.

    Raises:
        InputError: something cannot be written.
    """
    from eval.tables import render

    folder = path.with_name(f"{path.stem}_files")
    parts = [f"# {title}\n"]
    for section in sections:
        parts.append(f"## {section.title}\n")
        if section.text:
            parts.append(f"{section.text}\n")
        for figure in section.figures:
            write_atomic(folder / f"{figure.name}.svg", figure.svg.encode())
            parts.append(f"![{figure.alt}]({folder.name}/{figure.name}.svg)\n")
        if section.tables:
            parts.append(render(section.tables, "md"))
    write_atomic(path, "\n".join(parts).encode("utf-8", "backslashreplace"))


def show_answer(file: Path, documents: Sequence[Path], out: Path) -> None:
    """Writes the page of the answers in a file that `python -m agent.answer --out` left.

    Raises:
        InputError: the file or a document cannot be read, or is not of the answers.
    """
    from agent.page import write_page
    from agent.trajectory import Trajectory
    from indexes.document import Document

    try:
        # not splitlines(), which would also divide at a U+2028 within a text
        lines = [line for line in file.read_text(encoding="utf-8").split("\n") if line.strip()]
        rows = [json.loads(line) for line in lines]
        if not all(isinstance(row, dict) for row in rows):
            raise ValueError("a line is no row")
        runs = [Trajectory.from_row(row) for row in rows]
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{file}: no answer of python -m agent.answer --out ({error})") from error
    if not runs:
        raise InputError(f"{file}: is empty")
    with ExitStack() as stack:
        opened = [stack.enter_context(Document.open(path)) for path in documents]
        known = {(document.doc_id, document.sha256) for document in opened}
        for doc_id, told in runs[0].documents.items():
            if opened and (doc_id, told.get("sha256")) not in known:
                raise InputError(f"{file}: is about {doc_id}, which is none of the documents given")
        write_page(opened, runs, out)


def _gold(options: argparse.Namespace, stack: ExitStack) -> "Gold":
    """What the command line has runs scored by."""
    from eval.report.load import Gold, benchmark_of

    if options.judge is None:
        if options.judge_regions or options.judge_prompts:
            raise InputError("--judge-regions and --judge-prompts go with --judge CONFIG")
        return Gold(options.data, options.pdfs)
    from agent.config import load_config
    from eval.judge import load_judge

    regions = load_config(options.judge_regions) if options.judge_regions else None
    benchmark, config = benchmark_of(options.run), load_config(options.judge)
    judge = stack.enter_context(load_judge(benchmark, config, regions, options.judge_prompts))
    return Gold(options.data, options.pdfs, judge)


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    options = parser().parse_args(argv)
    if (options.run is None) == (options.trajectory is None):
        raise InputError("name a run or a sweep, or --trajectory answer.json and its documents")
    if options.trajectory:
        file, *documents = options.trajectory
        out = options.out or file.with_suffix(".html")
        show_answer(file, documents, out)
    else:
        out = options.out or options.run / "report.html"
        with ExitStack() as stack:
            gold = _gold(options, stack)
            sections = report(options.run, out, pictures=options.pictures, gold=gold, quiet=options.quiet)
        if options.markdown:
            write_markdown(options.markdown, options.run.resolve().name, sections)
    if not options.quiet:
        sys.stderr.write(f"written: {out}\n")
    return 0


if __name__ == "__main__":
    run_command(main)
