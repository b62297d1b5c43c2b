"""A run's folder: its rows, config, manifest and log; it survives any kill and goes on where it was.

    infer.jsonl     one row a question (`docs/trajectory.md`), in the benchmark's order once all are there
    config.yaml     the config with every dial
    manifest.json   what was run on what, by which versions, from when to when
    ids.txt         the questions asked for, one id a line: what is missing is known
    log.txt         what happened, with times

One process writes. Rows are appended whole; a line that a kill left torn is taken off at the next start, and
its question asked again. A lock, which the system frees with its holder, keeps a second run out.
"""

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from eval.identity import MANIFEST, Identity, check_same, new_manifest, now, read_manifest
from eval.rows import Entry, scan_rows
from indexes.cache import write_atomic, write_error
from indexes.errors import InputError, one_line

ROWS, CONFIG, IDS, LOG, LOCK, SUMMARY, VERDICTS = (
    "infer.jsonl",
    "config.yaml",
    "ids.txt",
    "log.txt",
    ".lock",
    "summary.json",
    "verdicts.jsonl",
)
OURS = frozenset({ROWS, CONFIG, MANIFEST, IDS, LOG, LOCK, SUMMARY, VERDICTS})
SYNC_SECONDS = 1.0


class RunFolder:
    """An open run: made by `open_run`.

    Attributes:
        entries: the rows that are there, by question id.
        manifest: as in `manifest.json`.
    """

    def __init__(self, path: Path, manifest: dict[str, Any]) -> None:
        self.path, self.manifest = path, manifest
        self.entries: dict[str, Entry] = {}
        self._rows: int | None = None
        self._end, self._synced = 0, 0.0

    def __enter__(self) -> Self:
        """Repairs the rows and opens them for more."""
        self.entries, damaged = scan_rows(self.path / ROWS)
        whole = sum(entry.size for entry in self.entries.values())
        if damaged or (self.path / ROWS).is_file() and whole != (self.path / ROWS).stat().st_size:
            self.log(
                f"infer.jsonl: took off {damaged} damaged or repeated lines; their questions are asked again"
            )
            self._keep(list(self.entries))
        self._open()
        return self

    def __exit__(self, *_: object) -> None:
        """Makes the rows durable and closes them."""
        self.sync()
        self._close()

    def append(self, question_id: str, line: bytes, failed: bool) -> None:
        """Adds a row, whole or not at all.

        Args:
            question_id: the row's.
            line: the row as JSON in UTF-8, without a line end.
            failed: whether its status says so.

        Raises:
            InputError: the disk is full or the file cannot be written.
        """
        if self._rows is None:
            raise ValueError("the run is not open")
        data = memoryview(line + b"\n")
        try:
            while data:
                data = data[os.write(self._rows, data) :]
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._rows, self._end)
            raise write_error(self.path / ROWS, error) from error
        self.entries[question_id] = Entry(self._end, len(line) + 1, failed)
        self._end += len(line) + 1
        if time.monotonic() - self._synced >= SYNC_SECONDS:
            self.sync()

    def begin(self, sitting: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        """Notes that a sitting starts, by whom and on what."""
        begun = {"started": now(), "ended": None, **sitting}
        self.write_manifest(**facts, ended=None, sittings=[*self.manifest["sittings"], begun])
        who = f"on Ray ({sitting['ray']})" if "ray" in sitting else f"with {sitting['workers']} workers"
        self.log(f"started {who}; {len(self.entries)} rows are there")

    def note(self, **facts: Any) -> None:
        """Adds to what the manifest says of this sitting."""
        last = {**self.manifest["sittings"][-1], **facts}
        self.write_manifest(sittings=[*self.manifest["sittings"][:-1], last])

    def end(self, asked: int) -> None:
        """Notes that a sitting ends, and what it did."""
        self.sync()
        failed = sum(entry.failed for entry in self.entries.values())
        at = now()
        last = {**self.manifest["sittings"][-1], "ended": at, "asked": asked}
        whole = len(self.entries) >= len(read_ids(self.path))
        sittings = [*self.manifest["sittings"][:-1], last]
        self.write_manifest(
            ended=at if whole else None, rows=len(self.entries), failed=failed, sittings=sittings
        )
        self.log(f"ended; {asked} asked, {len(self.entries)} rows, {failed} of them failed")

    def take_up(self, ids: Iterable[str], *, retry_failed: bool) -> int:
        """Counts the rows that are there and stay; with `retry_failed` those of `ids` that failed go."""
        if retry_failed:
            again = [i for i in ids if i in self.entries and self.entries[i].failed]
            if again:
                self.log(f"takes out {len(again)} failed rows, whose questions are asked again")
                self._keep([i for i in self.entries if i not in set(again)])
        return len(self.entries)

    def sync(self) -> None:
        """Makes the rows durable: a kill takes none in any case, a power failure those of a second."""
        if self._rows is not None:
            with contextlib.suppress(OSError):  # some file systems have none
                os.fsync(self._rows)
        self._synced = time.monotonic()

    def sort(self, order: Sequence[str]) -> None:
        """Puts the rows into an order of ids, rows of other ids behind them."""
        first = {question_id: place for place, question_id in enumerate(order)}
        wanted = sorted(self.entries, key=lambda i: first.get(i, len(first)))
        if wanted != list(self.entries):
            self._keep(wanted)

    def log(self, text: str) -> None:
        """Adds a line to `log.txt`."""
        with (self.path / LOG).open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{now()}  {one_line(text)}\n")

    def write_manifest(self, **changes: Any) -> None:
        """Replaces values of the manifest and writes it."""
        self.manifest |= changes
        write_atomic(self.path / MANIFEST, _pretty(self.manifest))

    def select(self, ids: Sequence[str], order: Sequence[str]) -> None:
        """Adds to the questions asked for; they are kept in the benchmark's order."""
        wanted = {*read_ids(self.path), *ids}
        text = "".join(f"{i}\n" for i in order if i in wanted)
        write_atomic(self.path / IDS, text.encode())

    def _keep(self, ids: Sequence[str]) -> None:
        """Rewrites the rows with those of `ids` in their order."""
        was_open = self._rows is not None
        self._close()
        path, entries = self.path / ROWS, {}
        temporary = path.with_name(f".{ROWS}.tmp")
        try:
            with path.open("rb") as old, temporary.open("wb") as new:
                for question_id in ids:
                    entry = self.entries[question_id]
                    old.seek(entry.start)
                    entries[question_id] = Entry(new.tell(), entry.size, entry.failed)
                    new.write(old.read(entry.size))
                new.flush()
                os.fsync(new.fileno())
            temporary.replace(path)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise write_error(path, error) from error
        self.entries = entries
        if was_open:
            self._open()

    def _open(self) -> None:
        path = self.path / ROWS
        try:
            self._rows = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise write_error(path, error) from error
        self._end = os.fstat(self._rows).st_size

    def _close(self) -> None:
        if self._rows is not None:
            os.close(self._rows)
            self._rows = None


@contextlib.contextmanager
def open_run(path: Path, identity: Identity) -> Iterator[RunFolder]:
    """Opens a run's folder, new or begun, and holds its lock.

    Raises:
        InputError: another run is at it, it is of another config or other data, holds something else, or
            cannot be written.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        _check_ours(path)
        lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise write_error(path, error) from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InputError(
                f"{path}: another run is at it; wait for its end or name another folder"
            ) from error
        manifest = read_manifest(path) if (path / MANIFEST).is_file() else _begin(path, identity)
        check_same(path, manifest, identity)
        (path / f".{ROWS}.tmp").unlink(missing_ok=True)
        with RunFolder(path, manifest) as folder:
            yield folder
    finally:
        os.close(lock)


def _check_ours(path: Path) -> None:
    """Refuses a folder of something else before anything is written there."""
    other = sorted(file.name for file in path.iterdir() if file.name not in OURS and file.suffix != ".tmp")
    if other and not (path / MANIFEST).is_file():
        raise InputError(f"{path}: holds {other[0]} and no run; name a new or empty folder")


def _begin(path: Path, identity: Identity) -> dict[str, Any]:
    """The first manifest of a new folder, not yet written."""
    if (path / ROWS).is_file() and (path / ROWS).stat().st_size:
        raise InputError(f"{path}: holds rows without a {MANIFEST}; name a new or empty folder")
    import yaml

    write_atomic(path / CONFIG, yaml.safe_dump(dict(identity.config), sort_keys=False).encode())
    return new_manifest(identity)


def read_ids(path: Path) -> list[str]:
    """The ids of the questions that a run was asked for, in the benchmark's order.

    Raises:
        InputError: they cannot be read.
    """
    try:
        text = (path / IDS).read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path / IDS}: cannot be read ({error})") from error
    return [line for line in text.split("\n") if line]  # splitlines() also divides at U+2028


def _pretty(value: Any) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")
