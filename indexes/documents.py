"""Several documents at once: which ones a folder holds, what each is called, opening them together."""

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from indexes.errors import InputError
from indexes.files import IMAGE_SUFFIXES, document_id, natural_key

if TYPE_CHECKING:
    from indexes.document import Document


@dataclass(frozen=True, slots=True)
class Named:
    """A document's place and the `doc_id` that tells it from the others."""

    path: Path
    doc_id: str


def named_paths(names: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """Paths as they were named; an empty name, such as of a variable that is not set, is no folder.

    Raises:
        InputError: a name is empty, or of a home folder that is not there.
    """
    paths = []
    for name in names:
        if not os.fspath(name):
            raise InputError("a document has no name; name a PDF or a folder of page images")
        try:
            paths.append(Path(name).expanduser())
        except RuntimeError as error:  # `~nobody`
            raise InputError(f"{name}: no such home folder; check the path") from error
    return paths


def documents_in(path: Path) -> list[Path]:
    """The documents that a path stands for: itself, or those in a folder that is none itself.

    A folder of page images without PDFs is a document. Any other stands for its PDFs and what its folders
    stand for; images beside PDFs are no pages. Hidden files and folders are left out.

    Raises:
        InputError: it is a folder without any document, or cannot be read.
    """
    try:
        if not path.is_dir():
            return [path]
        found = list(_walk(path))
    except OSError as error:
        raise InputError(
            f"{error.filename}: cannot be read ({error.strerror}); check its permissions"
        ) from error
    if not found:
        raise InputError(f"{path}: a folder without PDFs and page images; name one that has some")
    return found


def _walk(folder: Path) -> Iterator[Path]:
    entries = sorted(
        (entry for entry in folder.iterdir() if not entry.name.startswith(".")),
        key=lambda entry: (natural_key(entry.name), entry.name),
    )
    pdfs = [entry for entry in entries if entry.suffix.lower() == ".pdf" and not entry.is_dir()]
    images = any(entry.suffix.lower() in IMAGE_SUFFIXES and entry.is_file() for entry in entries)
    if images and not pdfs:
        yield folder
        return
    yield from pdfs
    for entry in entries:
        if entry.is_dir() and not entry.is_symlink():  # links may lead in circles
            yield from _walk(entry)


def named_documents(paths: Iterable[Path], known: Mapping[Path, str] | None = None) -> list[Named]:
    """The documents that paths stand for, in order, each once, with a `doc_id` of its own.

    Of a document in a folder that was named it is the path from there without `.pdf`, such as `2023/report`;
    of one that was named itself, the file's stem. Where that is the same for two, it is so for neither: the
    suffix is kept, then the folders above are put before it, one by one, until all differ.

    Args:
        paths: what was named.
        known: documents that have a `doc_id` already: they keep it, and no other gets it.

    Raises:
        InputError: a folder without any document.
    """
    found: dict[Path, list[str]] = {}
    for path in paths:
        root = Path(os.path.normpath(path.expanduser().absolute()))  # links stay: people know them by name
        for document in documents_in(root):
            if document not in found:
                found[document] = _names(document, root)
    known = known or {}
    names: dict[Path, str] = dict(zip(found, _distinct(list(found.values())), strict=True))
    taken = set(known.values())
    for path, candidates in found.items():
        names[path] = known.get(path) or _free(names[path], candidates, taken)
        taken.add(names[path])
    return [Named(path, name) for path, name in names.items()]


def _free(name: str, candidates: Sequence[str], taken: Collection[str]) -> str:
    """The name, or the next longer one that is not taken."""
    longer = candidates[candidates.index(name) :]
    return next((other for other in longer if other not in taken), candidates[-1])


def _names(document: Path, root: Path) -> list[str]:
    """What a document may be called, shortest first; the last is its whole path."""
    inside = document.relative_to(root).parts[:-1] if document != root else ()
    stem = document_id(document)
    above = (document if document == root else root).parts
    above = above[1:-1] if document == root else above[1:]
    names: list[str] = []
    for extra in range(len(above) + 1):
        before = (*above[len(above) - extra :], *inside)
        names.extend("/".join((*before, last)) for last in dict.fromkeys((stem, document.name)))
    return [*names, str(document)]


def _distinct(candidates: Sequence[Sequence[str]]) -> list[str]:
    places = [0] * len(candidates)
    while True:
        names: list[str] = [of[min(place, len(of) - 1)] for of, place in zip(candidates, places, strict=True)]
        counts = Counter(names)
        shared = [i for i, name in enumerate(names) if counts[name] > 1]
        if not shared:
            return names
        for i in shared:
            places[i] += 1


@contextmanager
def open_documents(
    paths: Sequence[str | os.PathLike[str]],
    *,
    password: str | None = None,
    ocr: bool = True,
    quiet: bool = True,
) -> "Iterator[list[Document]]":
    """Opens documents together, each with a `doc_id` of its own; one with the content of another is left out.

    Args:
        paths: PDFs, page images, folders of page images, or folders of those.
        password: of those that are encrypted.
        ocr: read pages that have no text layer.
        quiet: no progress bars on stderr.

    Raises:
        InputError: one of them cannot be opened.
    """
    from indexes.document import Document

    with ExitStack() as stack:
        opened: dict[str, Document] = {}
        for named in named_documents(named_paths(paths)):
            document = Document.open(named.path, password=password, ocr=ocr, quiet=quiet, doc_id=named.doc_id)
            stack.enter_context(document)
            opened.setdefault(document.sha256, document)
        yield list(opened.values())
