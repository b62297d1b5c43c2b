"""What documents and pages are called where people and parsers read it."""

import re
from collections.abc import Iterable

from indexes.plain import plain
from indexes.types import PageRef

MAX_NAME = 80


def document_names(doc_ids: Iterable[str]) -> dict[str, str]:
    """A name for each of several documents, all different, fit for prose and for a file's name.

    A name has letters, digits, `_`, `-` and full stops inside it: no space, no bracket, no slash.
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    for doc_id in doc_ids:
        base = re.sub(r"[^\w.-]+", "-", plain(doc_id))[:MAX_NAME].strip(".-") or "document"
        name, number = base, 2
        while name in taken:
            name, number = f"{base}-{number}", number + 1
        taken.add(name)
        names[doc_id] = name
    return names


def page_name(ref: PageRef, *, several: bool = False) -> str:
    """A page in a message: `page 12`, of several documents `page 12 of report`."""
    return f"page {ref.page} of {plain(ref.doc_id, MAX_NAME)}" if several else f"page {ref.page}"


def spans(pages: Iterable[int]) -> str:
    """Pages in few words: `3-5, 9`."""
    runs: list[list[int]] = []
    for page in sorted(set(pages)):
        if runs and page == runs[-1][1] + 1:
            runs[-1][1] = page
        else:
            runs.append([page, page])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def ref_spans(refs: Iterable[PageRef], *, several: bool = False) -> str:
    """Pages in few words; of several documents `report 3-5, 9; annex 2`."""
    by_document: dict[str, list[int]] = {}
    for ref in refs:
        by_document.setdefault(ref.doc_id, []).append(ref.page)
    if not several:
        return ", ".join(map(spans, by_document.values()))
    return "; ".join(f"{plain(doc_id, MAX_NAME)} {spans(pages)}" for doc_id, pages in by_document.items())
