"""What all loaders share: reading files of rows, paths that stay in their folder, literals, page lists.

What benchmarks ship is untrusted: names of documents cannot leave the data folder, and lists written as
strings are parsed as literals within bounds, never evaluated.
"""

import ast
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from indexes.errors import InputError
from indexes.files import document_id
from indexes.types import PageRef

MAX_LITERAL = 100_000  # characters of a list that is written as a string
MAX_PAGE = 100_000  # no document of a benchmark has as many
MAX_NAME = 240  # bytes of a file's name; file systems hold 255

Row = Mapping[str, Any]


def find_file(data: Path, names: Sequence[str], download: str) -> Path:
    """The first of the files that `data` has.

    Raises:
        InputError: it has none; the line says what to download and where to put it.
    """
    for name in names:
        if (data / name).is_file():
            return data / name
    raise InputError(f"{data}: no {' or '.join(names)} there; {download}")


def read_lines(path: Path) -> Iterator[tuple[int, Row]]:
    """The rows of a JSON-lines file with their line numbers; blank lines are skipped.

    Raises:
        InputError: the file cannot be read, or a line of it is no JSON object.
    """
    for number, line in enumerate(_text(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}: line {number} is not JSON ({error}); download it again") from error
        if not isinstance(row, dict):
            raise InputError(f"{path}: line {number}: expected an object, got {type(row).__name__}")
        yield number, row


def read_array(path: Path, key: str = "") -> list[Row]:
    """The rows of a JSON array; with `key` also of an object that holds the array under it.

    Raises:
        InputError: the file cannot be read, or is no array of objects.
    """
    try:
        rows = json.loads(_text(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not readable as JSON ({error}); download it again") from error
    if key and isinstance(rows, dict):
        rows = rows.get(key)
    if not isinstance(rows, list):
        raise InputError(f"{path}: expected a JSON array of rows, got {type(rows).__name__}")
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise InputError(f"{path}: row {number}: expected an object, got {type(row).__name__}")
    return rows


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error}); download it again") from error


def document_path(folder: Path, name: object, suffix: str, problems: list[str]) -> Path:
    """`folder/name+suffix`; a name that would leave the folder is a problem and stays in it as plain text."""
    text = str(name if name is not None else "")
    file = f"{text}{suffix}"
    if not _plain(text):
        problems.append(f"{file!r}: expected the plain name of a document")
        return folder / safe_name(file)
    path = folder / file
    if not path.is_file():
        problems.append(f"{file}: no such document in {folder}")
    return path


def _plain(name: str) -> bool:
    """Whether a name is one file's in a folder: no path, nothing that a file system cannot hold."""
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        return False
    one_line = name.splitlines() == [name]  # ids are made of it
    return one_line and name not in (".", "..") and not any(c in name for c in "/\\\0") and size <= MAX_NAME


def safe_name(text: str) -> str:
    """A name that a file can have, close to a text that cannot be one."""
    safe = "".join(c if c.isascii() and c.isalnum() or c in " ._-" else "_" for c in text).strip(". ")
    return safe[:100] or "unnamed"


def text_of(row: Row, name: str, problems: list[str]) -> str:
    """A text that a row must have, empty (and a problem) where it has none."""
    value = row.get(name)
    text = "" if value is None else str(value)
    if not text.strip():
        problems.append(f"{name}: expected a text, got {short(value)}")
    return text


def literal_list(value: object, name: str, problems: list[str]) -> list[Any]:
    """A list that may be written as a Python or JSON literal; anything else is a problem and becomes []."""
    parsed: object = value
    if isinstance(value, str) and len(value) <= MAX_LITERAL:
        try:
            parsed = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            parsed = None
    if isinstance(parsed, list | tuple):
        return list(parsed)
    problems.append(f"{name}: expected a list, got {short(value)}")
    return []


def page_numbers(values: Iterable[object], base: int, name: str, problems: list[str]) -> tuple[int, ...]:
    """1-based pages from numbers that count from `base`: sorted, each once; what is no page is a problem."""
    pages = set()
    for value in values:
        if isinstance(value, int) and not isinstance(value, bool) and base <= value <= MAX_PAGE:
            pages.add(value - base + 1)
        else:
            problems.append(f"{name}: expected a page from {base}, got {short(value)}")
    return tuple(sorted(pages))


def page_refs(document: Path, pages: Iterable[int]) -> tuple[PageRef, ...]:
    """Pages of a document, sorted."""
    doc_id = document_id(document)
    return tuple(PageRef(doc_id, page) for page in sorted(set(pages)))


def short(value: object) -> str:
    """A value as it is shown in a problem."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


class Keys:
    """Gives every row an id of its own: a key that came before gets its copy's number and a problem."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()
        self._given: set[str] = set()

    def take(self, key: str, problems: list[str], what: str = "") -> str:
        """The id for this row.

        Args:
            key: what the row calls itself.
            problems: takes what is wrong with that.
            what: the problem, where the key is no id that a reader knows.
        """
        name = _on_one_line(key)
        if name != key:
            problems.append(f"id {short(key)}: expected a text on one line; it is called {name!r}")
        self._seen[name] += 1
        if self._seen[name] > 1:
            problems.append(what or f"{name} stands in the file already")
        if name not in self._given:
            self._given.add(name)
            return name
        copy = max(2, self._seen[name])
        while f"{name}#{copy}" in self._given:
            copy += 1
        self._given.add(f"{name}#{copy}")
        return f"{name}#{copy}"


def _on_one_line(key: str) -> str:
    """An id that can stand on a line of a file by itself; it stays as it is where it can."""
    text = key.encode("utf-8", "backslashreplace").decode()
    return text if text.splitlines() == [text] and text.strip() else " ".join(text.split()) or "unnamed"
