"""Builds indexes ahead of time: `python -m indexes.build reports/ paper.pdf`, also into a corpus's folder."""

import argparse
import functools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from indexes.cluster import CORES, Here, Outcome, Pool, open_pool
from indexes.corpus import DOCUMENTS, IVF, LARGE, Corpus, joined_index, options_record
from indexes.documents import named_documents, named_paths
from indexes.encoders import load_encoder
from indexes.encoders.options import DEFAULT, add_encoder_options, given_settings
from indexes.errors import CommandParser, InputError, one_line, run_command
from indexes.jobs import Built, Job, Plan, Reading, describe, index_document, plan, record
from indexes.progress import bar, page_bar, skip

EXAMPLES = """examples:
  python -m indexes.build annual-report.pdf
  python -m indexes.build reports/ scans/contract-pages/
  python -m indexes.build reports/ --no-ocr --quiet
  python -m indexes.build reports/ --encoder colqwen --model vidore/colqwen2.5-v0.2 --out corpus/
      one folder that holds all indexes; search it by: python -m retrieval.search --corpus corpus/ "query"
  python -m indexes.build reports/ --out corpus/ --ray local
      by as many processes as this machine has room for; --ray 10.0.0.1:6379 joins a Ray cluster

Without --out, what is built is cached under $PAGETRAIL_CACHE (else the user's cache folder) and found by
every other command. Folders are searched through; images beside PDFs are no pages; each content is indexed
once. What is indexed already is left as it is, and an interrupted build goes on where it stopped.
exit codes: 0 done, 2 at least one document could not be indexed (the others are)
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Builds the index of each document named; returns 2 if any could not be."""
    options = _parser().parse_args(arguments)
    out = None if options.out is None else _checked_out(options.out)
    settings = given_settings(options)
    reading = Reading(options.password, options.ocr, options.quiet)
    before = _known(out)
    documents = named_documents(named_paths(options.documents), before)
    name = options.encoder or DEFAULT
    make = functools.partial(load_encoder, name, **settings)
    with open_pool(options.ray, make, cores=options.ray_cores, quiet=options.quiet) as pool:
        corpus = None
        if out is not None:
            about = describe_by(pool, options.ocr)
            record_of = options_record(out, {"encoder": name, **settings})
            corpus = Corpus.open_or_make(out, {**about, "options": record_of})
        with bar(len(documents), "looking at documents", "document", options.quiet) as looking:
            work = plan(documents, reading, None if out is None else out / DOCUMENTS, looking.update)
        try:
            _index(work, pool, corpus, options.quiet)
        finally:
            if corpus is not None:
                corpus.flush()
    if corpus is not None and corpus.pages > LARGE:
        from indexes.ivf import open_or_build_ivf

        open_or_build_ivf(joined_index(corpus), corpus.folder / IVF, quiet=options.quiet)
    return _report(work, len(documents))


def _checked_out(name: str) -> Path:
    if not name.strip():
        raise InputError("--out is empty; name a folder for the indexes")
    try:
        path = Path(name).expanduser().absolute()
        path.exists()
    except (OSError, RuntimeError, ValueError) as error:  # RuntimeError: `~nobody`
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"--out {name}: cannot be used ({reason}); name another folder") from error
    return path


def _known(out: Path | None) -> dict[Path, str]:
    """What the documents are called that a corpus has already."""
    if out is None or not (out / "corpus.json").exists():
        return {}
    corpus = Corpus.open(out)
    return {corpus.path_of(document.source): document.doc_id for document in corpus.documents.values()}


def describe_by(pool: Pool | Here, ocr: bool) -> dict[str, Any]:
    """What a worker's encoder is."""
    (outcome,) = pool.map(describe, [ocr])
    if outcome.status != "done":
        raise InputError(outcome.message)
    found: dict[str, Any] = outcome.value
    return found


def _index(work: Plan, pool: Pool | Here, corpus: Corpus | None, quiet: bool) -> None:
    """Does the work; what could not be done is added to the plan's `wrong`."""
    jobs = work.jobs
    with page_bar(sum(job.pages for job in jobs), "indexing", quiet) as progress:
        here = isinstance(pool, Here)
        function = functools.partial(index_document, progress=progress.update) if here else index_document
        for outcome in pool.map(function, jobs):
            job = jobs[outcome.place]
            if outcome.status != "done":
                work.wrong.append(_line(job, outcome))
                skip(progress, job.pages)
                continue
            built: Built = outcome.value
            if not built.fresh:
                skip(progress, job.pages)
            elif not here:
                progress.update(job.pages)
            if corpus is not None:
                record(corpus, job, built, jobs)
            tqdm.write(_done(job, built), file=sys.stdout)
            sys.stdout.flush()


def _line(job: Job, outcome: Outcome) -> str:
    name = str(job.path)
    return outcome.message if name in outcome.message else f"{name}: {outcome.message}"


def _done(job: Job, built: Built) -> str:
    copies = f" (the same: {', '.join(path.name for path in job.copies)})" if job.copies else ""
    name = one_line(f"{job.doc_id if '/' in job.doc_id else job.path.name}{copies}")
    if not built.fresh:
        return f"{name}: {job.pages} pages, indexed already"
    failed = f", {built.unread} pages could not be read" if built.unread else ""
    size = built.size / job.pages / 1000
    return f"{name}: {job.pages} pages, {built.vectors} vectors, {size:.0f} KB a page{failed}"


def _report(work: Plan, documents: int) -> int:
    for message in work.damaged:
        sys.stderr.write(f"warning: {one_line(message)}\n")
    for message in work.wrong:
        sys.stderr.write(f"error: {one_line(message)}\n")
    if work.wrong and documents > 1:
        sys.stderr.write(f"{len(work.wrong)} of {documents} documents could not be indexed\n")
    return 2 if work.wrong else 0


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        "python -m indexes.build",
        "Read documents and build their indexes ahead of time.",
        EXAMPLES,
    )
    parser.add_argument(
        "documents",
        nargs="+",
        metavar="DOC_OR_DIR",
        help="a PDF or folder of page images, or a folder of those",
    )
    parser.add_argument("--out", metavar="INDEX", help="a folder for the indexes, a corpus to be searched")
    parser.add_argument("--password", help="of encrypted PDFs")
    parser.add_argument("--no-ocr", dest="ocr", action="store_false", help="leave pages without text unread")
    parser.add_argument("--quiet", action="store_true", help="no progress bars")
    group = parser.add_argument_group("many processes or machines (needs pagetrail[ray])")
    group.add_argument("--ray", metavar="ADDRESS", help="of a Ray cluster, or `local` to start one here")
    group.add_argument(
        "--ray-cores",
        type=int,
        default=CORES,
        metavar="N",
        help=f"cores of a worker on a cluster without GPUs (default {CORES})",
    )
    add_encoder_options(parser)
    return parser


if __name__ == "__main__":
    run_command(main)
