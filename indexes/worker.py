"""The worker process: `python -m indexes.worker` takes tasks on stdin, answers on stdout."""

import dataclasses
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from indexes.errors import InputError
from indexes.workers import leave_with_parent, receive, send

Answer = tuple[dict[str, Any], bytes]


class Desk:
    """The document that the worker has open; tasks on the same one don't open it again."""

    def __init__(self) -> None:
        self._key: tuple[Any, ...] = ()
        self._source: Any = None
        self._ocr: Any = None

    def ocr_engine(self) -> Any:
        """The OCR engine, loaded once."""
        if self._ocr is None:
            from indexes.ocr import load_engine

            self._ocr = load_engine()
        return self._ocr

    def source(self, task: dict[str, Any]) -> Any:
        """Opens the task's document, or fails if its files changed since the task was made."""
        from indexes.files import stamp
        from indexes.source import open_source

        doc = task["document"]
        key = (doc["path"], tuple(doc["images"]), doc["password"], doc["stamp"])
        if key != self._key:
            source = open_source(doc["path"], doc["images"], doc["password"])
            if stamp(tuple(Path(file) for file in doc["images"] or [doc["path"]])) != doc["stamp"]:
                raise InputError(f"{doc['path']}: changed while it was read; run the command again")
            self._key, self._source = key, source
        return self._source


def survey(desk: Desk, task: dict[str, Any]) -> Answer:
    """Page count, outline, labels."""
    found = desk.source(task).survey()
    return dataclasses.asdict(found), b""


def measure(desk: Desk, task: dict[str, Any]) -> Answer:
    """Page count, and the sizes in points, as seen, of those of the task's pages that the document has."""
    source = desk.source(task)
    count = len(source.images) if task["document"]["images"] else source.count
    sizes = []
    for number in task["pages"]:
        if not 1 <= number <= count:
            continue
        if task["document"]["images"]:
            size = source.size(source.load(number))
        else:
            rect = source.page(number).rect
            size = float(rect.width), float(rect.height)
        sizes.append([number, *size])
    return {"pages": count, "sizes": sizes}, b""


def extract(desk: Desk, task: dict[str, Any]) -> Answer:
    """Words of some pages from their text layer; pages that fail are named."""
    from indexes import raw
    from indexes.extract import extract_page

    source, pages, failed = desk.source(task), [], {}
    for number in task["pages"]:
        try:
            pages.append(extract_page(source, number))
        except InputError:
            raise
        except Exception as error:
            failed[number] = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            pages.append(raw.RawPage.empty(number))
    return {"failed": failed}, raw.dump(pages)


def render(desk: Desk, task: dict[str, Any]) -> Answer:
    """A page as raw RGB."""
    image = desk.source(task).render(task["page"], task["dpi"])
    return {"size": list(image.size)}, image.tobytes()


def ocr(desk: Desk, task: dict[str, Any]) -> Answer:
    """OCR of a page into the file that the task names."""
    from indexes.cache import write_json
    from indexes.ocr import read_image

    size, image = desk.source(task).for_ocr(task["page"])
    lines = read_image(desk.ocr_engine(), image)
    write_json(Path(task["out"]), {"size": size, "lines": lines})
    return {}, b""


def mark(desk: Desk, task: dict[str, Any]) -> Answer:
    """A PDF of some pages with highlights and notes."""
    from indexes.marking import marked_copy

    return {}, marked_copy(desk.source(task), task["pages"])


def layout(desk: Desk, task: dict[str, Any]) -> Answer:
    """The layout model's regions on a page; of a page without a text layer, over the words that OCR found."""
    from indexes.layout import find_regions
    from indexes.source import mupdf

    mupdf(layout=True)
    page = desk.source(task).upright_page(task["page"], task["ocr_file"])
    return {"regions": find_regions(page)}, b""


OPERATIONS: dict[str, Callable[[Desk, dict[str, Any]], Answer]] = {
    "survey": survey,
    "measure": measure,
    "extract": extract,
    "render": render,
    "mark": mark,
    "ocr": ocr,
    "layout": layout,
}


def _load_layout() -> None:
    """Imports the layout model and runs it once, on a page of nothing, so that it is ready."""
    from indexes.layout import find_regions
    from indexes.source import mupdf

    find_regions(mupdf(layout=True).open().new_page())


def main() -> None:
    """Runs tasks until stdin closes; with the argument `layout` the layout model is loaded first."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=leave_with_parent, args=(os.getppid(),), daemon=True).start()
    tasks = sys.stdin.buffer
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever libraries print must not get between the replies
    desk = Desk()
    if "layout" in sys.argv[1:]:
        _load_layout()
    while True:
        try:
            task, _ = receive(tasks)
        except EOFError:
            return
        value: dict[str, Any]
        try:
            value, data = OPERATIONS[task["operation"]](desk, task)
        except InputError as error:
            value, data = {"input_error": str(error)}, b""
        except Exception as error:
            value, data = {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"}, b""
        try:
            send(replies, value, data)
        except BrokenPipeError:
            os._exit(1)


if __name__ == "__main__":
    main()
