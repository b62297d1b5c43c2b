"""A corpus on disk: an index folder for each of many documents, and a manifest of them.

    INDEX/corpus.json          what embedded them, and the documents: id, source, sha256, pages, index folder
    INDEX/documents/<key>/     the index of a document, see `indexes.vectors`
    INDEX/ivf/                 of a large corpus, what finds likely pages, see `indexes.ivf`

Sources are written relative to INDEX, so that a tree that holds both can be moved. The manifest may lag
behind the folders by some seconds: an index that it does not list yet is found again by its key.
"""

import json
import os
import shutil
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from indexes.cache import lock, write_atomic
from indexes.errors import InputError
from indexes.types import PageRef

if TYPE_CHECKING:
    from indexes.joined import JoinedIndex

FORMAT = 1
MANIFEST = "corpus.json"
DOCUMENTS = "documents"
IVF = "ivf"
LARGE = 5000  # pages; of more, words don't fit into memory, and likely pages are looked for first
FLUSH_SECONDS = 5.0  # a manifest of many documents is not written for each of them
_OF_A_MACHINE = ("device", "batch_size")  # settings that say nothing of the vectors
_FOLDERS = ("model", "base")  # settings of an encoder that may name a folder
_OPTIONS: Mapping[str, type | tuple[type, ...]] = {  # of an encoder, and what they are
    **dict.fromkeys(("encoder", *_FOLDERS), str),
    **dict.fromkeys(("max_num_visual_tokens", "pool_factor"), int),
    "dpi": (int, float),
}
MOST_PAGES = 1_000_000  # of a document


@dataclass(frozen=True, slots=True)
class CorpusDocument:
    """A document of a corpus.

    Attributes:
        source: the file or folder, relative to the corpus's folder.
        copies: others with the same content, which is indexed once.
        pages: how many it has.
        folder: of its index, relative to the corpus's folder.
    """

    doc_id: str
    source: str
    sha256: str
    pages: int
    folder: str
    copies: tuple[str, ...] = ()


class Corpus:
    """The manifest of a corpus.

    Attributes:
        folder: where it lies.
        about: `encoder` (its `name` and `revision`), `options` to load it by, `settings` of the indexes.
        documents: by `doc_id`.
    """

    def __init__(
        self, folder: Path, about: Mapping[str, Any], documents: Iterable[CorpusDocument] = ()
    ) -> None:
        self.folder = folder
        self.about = dict(about)
        self.documents = {document.doc_id: document for document in documents}
        self._new: dict[str, CorpusDocument] = {}
        self._flushed = time.monotonic()

    @property
    def pages(self) -> int:
        """How many all documents have."""
        return sum(document.pages for document in self.documents.values())

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Opens a corpus that is there.

        Raises:
            InputError: there is none, or its manifest cannot be read.
        """
        found = _read(folder)
        if found is None:
            raise InputError(
                f"{folder}: no corpus ({MANIFEST} is not there); make one: "
                "python -m indexes.build DOCUMENTS --out INDEX"
            )
        return cls(folder, found[0], found[1])

    @classmethod
    def open_or_make(cls, folder: Path, about: Mapping[str, Any]) -> Self:
        """Opens a corpus to add documents to, or begins one.

        Raises:
            InputError: it was built by another encoder or with other settings; the message says which.
        """
        found = _read(folder)
        if found is None:
            if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
                if not (folder / DOCUMENTS).is_dir():
                    raise InputError(f"{folder}: is there already and no corpus; name a new folder")
            return cls(folder, about)
        had, documents = found
        for key in ("encoder", "settings"):
            for name in sorted({*had[key], *about[key]}):
                old, new = had[key].get(name), about[key].get(name)
                if old != new:
                    raise InputError(
                        f"{folder}: was built with {name} {old!r}, not {new!r}; "
                        "name another folder with --out"
                    )
        return cls(folder, about, documents)

    def path_of(self, source: str) -> Path:
        """Where a source is."""
        return Path(os.path.normpath(self.folder.absolute() / source))

    def source_of(self, path: Path) -> str:
        """How the manifest names a file or folder."""
        return Path(os.path.relpath(path.absolute(), self.folder.absolute())).as_posix()

    def options(self) -> dict[str, Any]:
        """What the encoder is loaded by; folders of models are found from here."""
        return {
            name: str(self.path_of(value["folder"])) if isinstance(value, dict) else value
            for name, value in self.about["options"].items()
        }

    def put(self, document: CorpusDocument) -> None:
        """Adds or replaces a document; it is on disk some seconds later, or after `flush`."""
        self._new[document.doc_id] = self.documents[document.doc_id] = document
        if time.monotonic() - self._flushed > FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Writes the manifest, together with what others added meanwhile; removes indexes of old contents.

        Raises:
            InputError: the folder cannot be written.
        """
        path = self.folder / MANIFEST
        with lock(path):
            for litter in self.folder.glob(f".{MANIFEST}.*.tmp"):  # of a process that was killed
                litter.unlink(missing_ok=True)
            found = _read(self.folder)
            before = {document.doc_id: document for document in found[1]} if found else {}
            self.documents = {**before, **self._new}
            rows = [_row(self.documents[doc_id]) for doc_id in sorted(self.documents)]
            manifest = {"format": FORMAT, **self.about, "documents": rows}
            write_atomic(path, json.dumps(manifest, indent=1, ensure_ascii=False).encode("utf-8"))
            used = {document.folder for document in self.documents.values()}
            for document in before.values():
                if document.folder not in used:
                    shutil.rmtree(self.folder / document.folder, ignore_errors=True)
        self._new.clear()
        self._flushed = time.monotonic()


def joined_index(corpus: Corpus) -> "JoinedIndex":
    """The indexes of all documents as one, in the order of their ids; with what finds likely pages, if any.

    Raises:
        InputError: an index is missing or damaged, or of another document or encoder.
    """
    from indexes.index import PageIndex
    from indexes.ivf import Ivf
    from indexes.joined import JoinedIndex
    from indexes.vectors import MismatchError

    members = []
    for doc_id in sorted(corpus.documents):
        document = corpus.documents[doc_id]
        refs = [PageRef(doc_id, number) for number in range(1, document.pages + 1)]
        # Sizes alone are compared: to read all of a large corpus through takes longer than to search it.
        index = PageIndex.open(corpus.folder / document.folder, refs, checksums=False)
        told = {"document": document.sha256, **corpus.about["encoder"]}
        for name, value in told.items():
            if index.manifest.get(name) != value:
                had = index.manifest.get(name)
                raise InputError(
                    f"index {index.folder}: {name} is {had!r}, and of {doc_id} the corpus says {value!r}; "
                    "delete the folder and build again"
                )
        members.append(index)
    joined = JoinedIndex(members)
    try:
        joined.ivf = Ivf.open(corpus.folder / IVF, joined, checksums=False)
    except MismatchError:  # none, or of documents before some were added: all pages are compared then
        joined.ivf = None
    return joined


def options_record(folder: Path, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options to load an encoder by, as a manifest in `folder` keeps them: model folders relative to it."""
    kept: dict[str, Any] = {}
    for name, value in options.items():
        if name in _OF_A_MACHINE:
            continue
        if name in _FOLDERS and Path(str(value)).expanduser().is_dir():
            path = Path(str(value)).expanduser().absolute()
            kept[name] = {"folder": Path(os.path.relpath(path, folder.absolute())).as_posix()}
        else:
            kept[name] = value
    return kept


def _row(document: CorpusDocument) -> dict[str, Any]:
    row = asdict(document)
    if not document.copies:
        del row["copies"]
    return row


def _read(folder: Path) -> tuple[dict[str, Any], list[CorpusDocument]] | None:
    """A manifest's head and documents; None where there is none."""
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_bytes())
        if manifest.pop("format") != FORMAT:
            raise InputError(
                f"{path}: of another version of pagetrail; build the corpus again in a new folder"
            )
        rows = manifest.pop("documents")
        documents = [_document(row) for row in rows]
        _check_head(manifest)
        if len({document.doc_id for document in documents}) < len(documents):
            raise ValueError("a doc_id twice")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check its permissions") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{path}: damaged; delete it and build again: the indexes beside it are kept"
        ) from error
    return manifest, documents


def _document(row: Mapping[str, Any]) -> CorpusDocument:
    """A document of a manifest, which may come from anywhere: its index is in the corpus, or it is refused.

    Raises:
        ValueError, TypeError, AttributeError: it is damaged.
    """
    document = CorpusDocument(**{**row, "copies": tuple(row.get("copies", ()))})
    texts = (document.doc_id, document.source, document.sha256, document.folder, *document.copies)
    if not all(isinstance(text, str) and text and "\0" not in text for text in texts):
        raise ValueError("a text is missing")
    if type(document.pages) is not int or not 1 <= document.pages <= MOST_PAGES:
        raise ValueError("no number of pages")
    parts = document.folder.split("/")  # folders that no manifest lists any longer are removed
    if len(parts) != 2 or parts[0] != DOCUMENTS or parts[1] in ("", ".", ".."):
        raise ValueError("an index that is not in the corpus")
    return document


def _check_head(manifest: Mapping[str, Any]) -> None:
    encoder, settings, options = (manifest[name] for name in ("encoder", "settings", "options"))
    if not all(isinstance(encoder[name], str) for name in ("encoder", "revision")):
        raise ValueError("no encoder")
    if not isinstance(settings["ocr"], bool):
        raise ValueError("no settings")
    for name, value in options.items():
        if name in _FOLDERS and isinstance(value, dict):
            value = value["folder"]
        if not isinstance(value, _OPTIONS[name]) or isinstance(value, bool) or "\0" in str(value):
            raise ValueError("no option of an encoder")
    if "encoder" not in options:
        raise KeyError("encoder")
