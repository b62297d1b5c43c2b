"""The cache on disk: where it lies, and writes that survive a kill, a second process and a full disk.

Everything that costs time is kept under `$PAGETRAIL_CACHE` (else the user's cache folder), named by
digests of content and settings. A file or folder appears there under its final name only when it is complete.
"""

import contextlib
import errno
import glob
import hashlib
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from indexes.errors import InputError

STALE = 24 * 3600.0
"""Seconds after which a temporary file or folder of the cache is what a killed process left."""

_TEMPORARY = re.compile(r"\.(?P<beside>.+)\.[0-9a-f]{12}\.tmp", re.DOTALL)
_HEX = "[0-9a-f]" * 12
_LONGEST = 100  # characters of a name in that of its scratch folder

_WAY_OUT = "set PAGETRAIL_CACHE to a folder that can be written"


def cache_root() -> Path:
    """The cache folder, made if need be.

    Raises:
        InputError: the folder cannot be made or is no folder.
    """
    root = _named_root()
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cache folder {root}: {_reason(error)}; {_WAY_OUT}") from error
    if not os.access(root, os.R_OK | os.X_OK):
        raise InputError(f"cache folder {root}: cannot be read; {_WAY_OUT}")
    return root


def _named_root() -> Path:
    named = os.environ.get("PAGETRAIL_CACHE", "").strip()
    if named:
        try:
            return Path(named).expanduser().absolute()
        except RuntimeError as error:  # `~nobody`
            raise InputError(f"cache folder {named}: no such home folder; {_WAY_OUT}") from error
    import platformdirs

    return Path(platformdirs.user_cache_dir("pagetrail", appauthor=False))


def entry(kind: str, key: str) -> Path:
    """The path of a cache entry of some kind; `key` is a hex digest. The entry itself may not exist yet."""
    return cache_root() / kind / key[:2] / key


def digest(*parts: object) -> str:
    """A hex digest of the parts' texts, for use as a key; `("a", "bc")` and `("ab", "c")` differ."""
    sha = hashlib.sha256()
    for part in parts:
        data = str(part).encode("utf-8", "surrogatepass")
        sha.update(len(data).to_bytes(8, "little") + data)
    return sha.hexdigest()


def write_atomic(path: Path, data: bytes) -> None:
    """Writes a file so that `path` holds all of `data` or is left as it was, whatever happens.

    Raises:
        InputError: the disk is full or the folder cannot be written.
    """
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _clear_stale(path.parent)
        name = path.parent / f".{path.name}.{secrets.token_hex(6)}.tmp"
        # Unlike what `tempfile` makes, others may read it where the user's umask lets them.
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        temporary = name
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        temporary = None
    except OSError as error:
        raise write_error(path, error) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    """Writes JSON behind its checksum, whole or not at all; `read_json` is the inverse.

    Raises:
        InputError: the disk is full or the folder cannot be written.
    """
    data = json.dumps(value).encode()
    write_atomic(path, hashlib.sha256(data).hexdigest().encode() + b"\n" + data)


def read_json(path: Path) -> Any:
    """Reads what `write_json` wrote; None where there is nothing or what is there is damaged.

    Raises:
        InputError: it may not be read.
    """
    try:
        checksum, _, data = path.read_bytes().partition(b"\n")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InputError(f"cache entry {path}: cannot be read ({_reason(error)}); {_WAY_OUT}") from error
    whole = hashlib.sha256(data).hexdigest().encode() == checksum
    return json.loads(data) if whole else None


def write_new(path: Path, data: bytes) -> None:
    """Writes a file that nobody else knows of yet, such as one in a `scratch_dir`.

    Raises:
        InputError: the disk is full or the folder cannot be written.
    """
    try:
        path.write_bytes(data)
    except OSError as error:
        raise write_error(path, error) from error


@contextlib.contextmanager
def scratch_dir(beside: Path) -> Iterator[Path]:
    """A new empty folder in the same place as `beside`, removed at the end unless it was published.

    Whoever calls this holds the `lock` of `beside`: what a killed process left of its own is removed.
    """
    try:
        beside.parent.mkdir(parents=True, exist_ok=True)
        remove_scratch(beside)
        _clear_stale(beside.parent)
        folder = beside.parent / f"{_scratch_prefix(beside)}{secrets.token_hex(6)}.tmp"
        folder.mkdir()
    except OSError as error:
        raise write_error(beside, error) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_scratch(beside: Path) -> None:
    """Removes the scratch folders that killed processes left; to be called under the `lock` of `beside`."""
    for folder in beside.parent.glob(f"{glob.escape(_scratch_prefix(beside))}{_HEX}.tmp"):
        shutil.rmtree(folder, ignore_errors=True)


def _scratch_prefix(beside: Path) -> str:
    return f".{beside.name[:_LONGEST]}."


def _clear_stale(folder: Path) -> None:
    """Removes what processes that were killed long ago left in a folder of the cache, and nothing elsewhere.

    A scratch folder goes only under its lock: that it is old does not yet say that nobody works in it.
    """
    left: list[tuple[Path, str]] = []
    with contextlib.suppress(OSError, InputError):
        if folder.is_relative_to(_named_root()):
            made = ((path, _TEMPORARY.fullmatch(path.name)) for path in folder.iterdir())
            left = [(path, found["beside"]) for path, found in made if found is not None]
    for path, beside in left:
        with contextlib.suppress(OSError):
            if time.time() - path.lstat().st_mtime < STALE:
                continue
            if path.is_dir() and not path.is_symlink():
                _remove_unlocked(path, folder / f"{beside}.lock")
            else:
                path.unlink()


def _remove_unlocked(scratch: Path, file: Path) -> None:
    """Removes a scratch folder if its lock is there and free."""
    import fcntl

    handle = os.open(file, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(scratch, ignore_errors=True)
    finally:
        os.close(handle)


def publish_dir(tmp: Path, final: Path) -> None:
    """Gives a finished folder its final name at once; if another process was first, its folder stays.

    Raises:
        InputError: the disk is full or the folder cannot be written.
    """
    try:
        for file in tmp.iterdir():
            _sync(file)
        _sync(tmp)
        final.parent.mkdir(parents=True, exist_ok=True)
        tmp.rename(final)
        _sync(final.parent)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST) and final.is_dir():
            shutil.rmtree(tmp, ignore_errors=True)
            return
        raise write_error(final, error) from error


def remove_dir(folder: Path) -> None:
    """Removes a damaged entry, if there is one.

    Raises:
        InputError: it may not be removed.
    """
    try:
        if folder.exists():
            shutil.rmtree(folder)
    except OSError as error:
        raise write_error(folder, error) from error


@contextlib.contextmanager
def lock(path: Path) -> Iterator[None]:
    """Holds a lock between processes, a file beside `path`; the system frees it when its holder dies."""
    import fcntl

    file = path.with_name(f"{path.name}.lock")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise write_error(path, error) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def write_error(path: Path, error: OSError) -> InputError:
    """The one line that tells a user why `path` could not be written and what to do."""
    cached = path.is_relative_to(_named_root())
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        other = "set PAGETRAIL_CACHE to another disk" if cached else "name a place on another disk"
        return InputError(f"no space left to write {path}; free some, or {other}")
    way_out = _WAY_OUT if cached else "name a place that can be written"
    return InputError(f"cannot write {path}: {_reason(error)}; {way_out}")


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


def _sync(path: Path) -> None:
    """Makes a file or folder durable, where the system can."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EBADF):
            raise
    finally:
        os.close(handle)
