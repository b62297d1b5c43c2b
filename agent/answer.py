"""`python -m agent.answer doc.pdf "question"`: answers with evidence, from the command line or as a library.

from agent.answer import answer
result = answer("doc.pdf", "What was revenue in 2023?")
print(result.answer)
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.asking import Asker, Models, Source, checked_question, load_models, open_asker
from indexes.errors import CommandParser, InputError, run_command

if TYPE_CHECKING:
    from agent.config import Config
    from agent.trajectory import Trajectory
    from indexes.document import Document

__all__ = ["Asker", "Models", "answer", "checked_question", "load_models", "main", "open_asker"]

EXAMPLES = """\
examples:
  python -m agent.answer report.pdf "What was the operating profit in 2024?"
      the answer, each fact with its page, box and quote, and what the run cost
  python -m agent.answer report.pdf "Who chairs the board?" "How many sites are there?"
      several questions share the index
  python -m agent.answer scan.pdf "What is the total?" --rounds 5 --k 6
      look longer: up to 5 rounds of 6 pages
  python -m agent.answer report.pdf "What was revenue?" --out answer/
      also answer/answer.json, a picture of each cited page with numbered boxes, answer/answer.pdf and
      answer/answer.html, the whole run as one page
  python -m agent.answer report.pdf "What was revenue?" --json --quiet > infer.jsonl
      the row alone: a DocScope infer.jsonl row with the whole trajectory under "trajectory"
  python -m agent.answer 2023.pdf "How did revenue change?" --also 2022.pdf --also 2021.pdf
      several documents together; every page and citation names its document
  python -m agent.answer locked.pdf "What was revenue?" --password secret

A folder of page images is a document too. The index is cached: the second question on a document starts at
once. Where the document does not say, the answer is "Unanswerable" and the nearest evidence is shown.
exit codes: 0 answered or abstained, 1 the run failed, 2 something you can put right
"""


def answer(
    path: Source,
    question: str,
    *,
    also: Sequence[Source] = (),
    config: "str | Path | Config" = "cpu",
    password: str | None = None,
    quiet: bool = True,
    **dials: Any,
) -> "Trajectory":
    """Answers a question about a document, or about several together.

    Args:
        path: a PDF, a folder of page images or a folder of documents.
        question: what to ask.
        also: further documents; every page and citation says whose it is.
        config: a config's name, its path, or the config itself.
        password: of an encrypted PDF.
        quiet: no progress bars on stderr.
        dials: replace those of the config, such as `rounds=5` or `k=6`.

    Returns:
        The run: `answer`, `cited` facts with their regions, all `facts`, `rounds`, `row()` for a benchmark.

    Raises:
        InputError: something that the user can put right.
    """
    from agent.config import load_config

    checked_question(question)
    with open_asker([path, *also], load_config(config, **dials), password=password, quiet=quiet) as asker:
        return asker.ask(question)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = CommandParser(
        "python -m agent.answer",
        "Answers questions about PDFs, every fact with its page, its region and its quote.",
        EXAMPLES,
    )
    made.add_argument("document", help="a PDF, a folder of page images or a folder of documents")
    made.add_argument("questions", nargs="+", metavar="question", help="what to ask; several share the index")
    made.add_argument(
        "--also", action="append", default=[], metavar="DOC", help="a further document; may be repeated"
    )
    made.add_argument("--config", default="cpu", help="a config's name or a YAML file (default: cpu)")
    made.add_argument("--rounds", type=int, help="retrieve-read-record rounds at most")
    made.add_argument("--k", type=int, help="pages read a round")
    made.add_argument("--password", help="of an encrypted PDF")
    made.add_argument("--out", metavar="DIR", help="write the row, pictures and a marked PDF")
    made.add_argument("--json", action="store_true", help="print the row alone, one line a question")
    made.add_argument("--quiet", action="store_true", help="no progress on stderr")
    return made


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    try:
        return parser().parse_args(arguments)
    except InputError as error:
        for word in arguments:
            dashed = word.startswith("-") and not word.startswith("--")
            if dashed and (word.lower().endswith(".pdf") or Path(word).exists()):
                hint = f"for a document whose name begins with a dash write ./{word}"
                raise InputError(f"{error}; {hint}") from error
        raise


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    options = _options(sys.argv[1:] if argv is None else list(argv))
    for number, question in enumerate(options.questions, start=1):
        try:
            checked_question(question)
        except InputError as error:
            if len(options.questions) == 1:
                raise
            raise InputError(f"question {number}: {error}") from error
    from agent.config import load_config
    from agent.live import Live

    config = load_config(options.config, rounds=options.rounds, k=options.k)
    if options.out is not None and not options.out.strip():
        raise InputError("--out: an empty name; name a folder, such as answer/")
    out = None if options.out is None else Path(options.out)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    with (
        _folder(out),
        open_asker(
            [options.document, *options.also], config, password=options.password, quiet=options.quiet
        ) as asker,
    ):
        runs = []
        for number, question in enumerate(options.questions, start=1):
            watch = None if options.quiet else Live(sys.stderr, several=len(asker.documents) > 1)
            run = asker.ask(question, f"{asker.doc_id}::q{number}", watch)
            runs.append(run)
            _print(run, as_json=options.json, more=number < len(options.questions))
        if out is not None:
            _write(runs, asker.documents, out, quiet=options.quiet or options.json)
    return 1 if any(run.failure is not None for run in runs) else 0


def _print(run: "Trajectory", *, as_json: bool, more: bool) -> None:
    from agent.show import show

    sys.stdout.write(run.line() + "\n" if as_json else show(run) + ("\n" if more else ""))
    sys.stdout.flush()


@contextmanager
def _folder(out: Path | None) -> Iterator[None]:
    """Makes the folder for results before the work begins; takes it back where nothing came of it."""
    if out is None:
        yield
        return
    made: list[Path] = []
    try:
        made += [path for path in (out, *out.parents) if not path.exists()]
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=out):
            pass
    except OSError as error:
        _remove_empty(made)
        raise InputError(f"--out {out}: cannot be written ({error.strerror}); name another folder") from error
    try:
        yield
    except BaseException:
        _remove_empty(made)
        raise


def _remove_empty(folders: Sequence[Path]) -> None:
    """Removes folders, the innermost first, as long as they are empty."""
    for folder in folders:
        try:
            folder.rmdir()
        except OSError:
            return


def _write(runs: Sequence["Trajectory"], documents: Sequence["Document"], out: Path, *, quiet: bool) -> None:
    from agent.page import write_page
    from agent.pictures import write_pictures
    from indexes.cache import write_atomic

    single = len(runs) == 1
    lines = "".join(run.line() + "\n" for run in runs)
    file = out / ("answer.json" if single else "answers.jsonl")
    write_atomic(file, lines.encode("utf-8"))
    written = [file]
    for number, run in enumerate(runs, start=1):
        written += write_pictures(documents, run, out, "" if single else f"q{number}-")
    written.append(write_page(documents, runs, out / ("answer.html" if single else "answers.html")))
    if not quiet:
        sys.stderr.write(f"written: {', '.join(str(path) for path in written)}\n")


if __name__ == "__main__":
    run_command(main)
