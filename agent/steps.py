"""Steps survive: the state after every node is on disk until the run ends, so that a killed run goes on.

A run's file lies in the cache under `runs/`, named by a digest of everything that decides what the run does:
the documents' contents, the question, the config, the prompts, the code of the state. So a file of another
run is never found, and one of another version neither. What nobody asked for again in `KEPT` is removed when
another run begins.
"""

import contextlib
import dataclasses
import functools
import importlib
import inspect
import logging
import re
import sqlite3
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.records import RoundRecord
from agent.state import STORED, Run, State
from agent.types import Plan
from indexes.cache import cache_root, digest, entry, lock
from indexes.errors import InputError

if TYPE_CHECKING:
    from langgraph.checkpoint.sqlite import SqliteSaver

THREAD = {"configurable": {"thread_id": "run"}}
SUFFIXES = ("", "-wal", "-shm", "-journal")
KEPT = 30 * 24 * 3600.0
"""Seconds that the steps of a run that was broken off are kept after its last one."""
_FILE = re.compile(rf"([0-9a-f]{{64}})(?:{'|'.join(SUFFIXES)})")
CODE = (
    "agent.types",
    "agent.records",
    "agent.state",
    "agent.nodes",
    "agent.endings",
    "agent.stopping",
    "agent.sifting",
    "agent.instructions",
    "agent.orders",
    "indexes.types",
    "retrieval.types",
)

_log = logging.getLogger(__name__)


def steps_file(question: str, run: Run) -> Path:
    """Where the steps of a run lie while it goes on."""
    documents = [(document.doc_id, document.sha256) for document in run.documents]
    prompts = sorted(getattr(run.reader, "prompts", {}).items())
    return entry(
        "runs", digest(documents, question, run.config.digest, run.reader.name, prompts, _code_digest())
    )


@functools.cache
def _code_digest() -> str:
    """Names the code whose objects are stored, so that those of other code are never read."""
    sources = [inspect.getsource(importlib.import_module(module)) for module in CODE]
    return digest(metadata.version("langgraph"), metadata.version("langgraph-checkpoint"), *sources)


@contextlib.contextmanager
def kept_steps(file: Path) -> "Iterator[SqliteSaver | None]":
    """A checkpointer over a run's file, which is removed where the run ends without an exception.

    None where another process is at the same run: this one then does it for itself.

    Raises:
        InputError: the file cannot be written, such as when the disk is full.
    """
    try:
        # Under a lock, so that no file is opened by one process while another finds it old.
        with lock(cache_root() / "runs"):
            _forget_old(file)
            file.parent.mkdir(parents=True, exist_ok=True)
            saver = _opened(file)
    except (OSError, sqlite3.DatabaseError) as error:
        raise _unwritable(file, error) from error
    if saver is None:
        yield None
        return
    try:
        yield saver
    except sqlite3.Error as error:
        saver.conn.close()
        raise _unwritable(file, error) from error
    except BaseException:
        saver.conn.close()
        raise
    saver.conn.close()
    _remove(file)


def _opened(file: Path) -> "SqliteSaver | None":
    """A saver with the file to itself; a damaged file is made anew."""
    for attempt in range(2):
        connection = sqlite3.connect(file, check_same_thread=False, timeout=0)
        try:
            # A file of one process at a time; the lock goes with the process. What a process has written
            # survives its end without a flush at every step; only a power cut may lose the latest ones.
            connection.execute("PRAGMA locking_mode=EXCLUSIVE")
            connection.execute("PRAGMA synchronous=NORMAL")
            saver = _saver(connection)
            saver.setup()
            connection.execute("BEGIN EXCLUSIVE")
            connection.commit()
            return saver
        except sqlite3.OperationalError as error:
            connection.close()
            if "locked" in str(error):
                _log.warning("another process is at this question; its steps are not shared")
                return None
            raise
        except sqlite3.DatabaseError:
            connection.close()
            if attempt:
                raise
            _remove(file)
    return None


def _saver(connection: sqlite3.Connection) -> "SqliteSaver":
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
    from langgraph.checkpoint.sqlite import SqliteSaver

    class Serializer(JsonPlusSerializer):
        def loads_typed(self, data: tuple[str, bytes]) -> Any:
            return thawed(super().loads_typed(data))

    allowed = [(kind.__module__, kind.__name__) for kind in STORED]
    return SqliteSaver(connection, serde=Serializer(allowed_msgpack_modules=allowed))


def thawed(value: Any) -> Any:
    """A value as it was stored: the tuples of our objects come back as lists and are made tuples again."""
    if isinstance(value, dict):
        return {key: thawed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [thawed(item) for item in value]
    if isinstance(value, STORED):
        values = {field.name: thawed(getattr(value, field.name)) for field in dataclasses.fields(value)}
        changes = {name: _frozen(item) for name, item in values.items()}
        return dataclasses.replace(value, **changes)
    return value


def _frozen(value: Any) -> Any:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


def earlier(graph: Any) -> State | None:
    """What is left of a run that was broken off; None where nothing is, or nothing that can be used."""
    try:
        values: State = graph.get_state(THREAD).values
        if "strategy" not in values:
            return None
        sound = isinstance(values["strategy"], Plan) and all(
            isinstance(record, RoundRecord) for record in values.get("rounds", ())
        )
    except Exception as error:  # whatever a damaged or foreign file does to the reader
        _log.warning("the steps of an earlier run cannot be read (%s); starting anew", type(error).__name__)
        sound = False
    if sound:
        return values
    graph.checkpointer.delete_thread(THREAD["configurable"]["thread_id"])
    return None


def _forget_old(current: Path) -> None:
    """Removes the steps of runs that were broken off long ago, but the current run's and those in use."""
    names = {
        path.with_name(match[1])
        for path in (cache_root() / "runs").glob("??/*")
        if (match := _FILE.fullmatch(path.name))
    }
    for file in names - {current}:
        with contextlib.suppress(OSError, sqlite3.Error):
            if time.time() - _last_written(file) > KEPT:
                _remove_unused(file)


def _last_written(file: Path) -> float:
    parts = (file.with_name(file.name + suffix) for suffix in SUFFIXES)
    return max(part.stat().st_mtime for part in parts if part.exists())


def _remove_unused(file: Path) -> None:
    """Removes a run's file unless a process has it; raises sqlite3.OperationalError where one has."""
    connection = sqlite3.connect(file, timeout=0)
    try:
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        pass  # damaged: nobody can go on from it
    finally:
        connection.close()
    _remove(file)


def _remove(file: Path) -> None:
    for suffix in SUFFIXES:
        with contextlib.suppress(OSError):
            file.with_name(file.name + suffix).unlink(missing_ok=True)


def _unwritable(file: Path, error: Exception) -> InputError:
    why = " ".join(str(error).split()) or type(error).__name__
    return InputError(
        f"{file}: the steps of the run cannot be kept ({why}); free some space, or set PAGETRAIL_CACHE to "
        "another folder"
    )
