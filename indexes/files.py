"""What a document is on disk: a PDF, a page image, a folder of page images; its content's hash.

A folder that holds the page images of several documents is named by a pattern: `4055/4055915_*.png`.
"""

import fnmatch
import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from indexes.errors import InputError

IMAGE_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp", ".gif"})


@dataclass(frozen=True, slots=True)
class Files:
    """The files a document is made of.

    Attributes:
        path: what the user named.
        images: the page images in order; empty for a PDF.
        stamp: sizes and times of the files, to notice that one changes while it is read.
    """

    path: Path
    images: tuple[Path, ...]
    stamp: str

    @property
    def doc_id(self) -> str:
        """The file's stem, the folder's name, or what a pattern's names have in common."""
        return document_id(self.path)


def document_id(path: Path) -> str:
    """A document's id: the file's stem, the folder's name, of a pattern what stands before the `*`."""
    if "*" in path.name and not path.exists():
        return path.name.partition("*")[0].rstrip("_- .") or path.parent.name
    return path.name if path.is_dir() else path.stem


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """Sorts `p_2.png` before `p_10.png`: runs of digits compare as numbers, the rest without case."""
    parts = re.split(r"(\d+)", name.casefold())
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts if part)


def find_files(path: str | os.PathLike[str]) -> Files:
    """Looks at what the user named.

    Raises:
        InputError: nothing is there, it cannot be read, is empty, or is neither PDF nor page images.
    """
    if not os.fspath(path):
        raise InputError("the document has no name; name a PDF or a folder of page images")
    named = Path(path)
    try:
        named = named.expanduser()
        real = named.resolve()
        if real.is_dir():
            images = _images(real)
        elif real.is_file():
            images = _check_file(named, real)
        elif "*" in real.name and real.parent.is_dir():
            images = _images(real.parent, real.name)
        elif real.exists():
            raise InputError(
                f"{named}: is neither a file nor a folder; name a PDF or a folder of page images"
            )
        else:
            raise InputError(f"{named}: no such file or folder; check the path")
        return Files(real, images, stamp(images or (real,)))
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: links in a circle, `~nobody`
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{named}: cannot be read ({reason}); check the path and its permissions") from error


def stamp(files: tuple[Path, ...]) -> str:
    """Sizes and times of files as one text."""
    stats = [file.stat() for file in files]
    return hashlib.sha256(repr([(s.st_size, s.st_mtime_ns, s.st_ino) for s in stats]).encode()).hexdigest()


def content_hash(files: Files) -> str:
    """SHA-256 of a PDF's bytes; of a folder, over the images' names and contents in page order.

    Raises:
        InputError: a file cannot be read.
    """
    try:
        if not files.images:
            with files.path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        whole = hashlib.sha256(b"page images\n")
        for image in files.images:
            with image.open("rb") as file:
                whole.update(f"{hashlib.file_digest(file, 'sha256').hexdigest()} {image.name}\n".encode())
        return whole.hexdigest()
    except OSError as error:
        raise InputError(
            f"{error.filename}: cannot be read ({error.strerror}); check its permissions"
        ) from error


def _images(folder: Path, pattern: str = "*") -> tuple[Path, ...]:
    found = [
        file
        for file in folder.iterdir()
        if fnmatch.fnmatchcase(file.name, pattern)
        and file.suffix.lower() in IMAGE_SUFFIXES
        and not file.name.startswith(".")
        and file.is_file()
    ]
    if not found and pattern != "*":
        raise InputError(f"{folder / pattern}: no page image has such a name; check the path")
    if not found:
        pdfs = sorted(file.name for file in folder.glob("*.pdf"))
        hint = f"name the PDF in it ({pdfs[0]})" if pdfs else "name a PDF or a folder of PNG or JPEG pages"
        raise InputError(f"{folder}: a folder without page images; {hint}")
    return tuple(sorted(found, key=lambda file: (natural_key(file.name), file.name)))


def _check_file(named: Path, real: Path) -> tuple[Path, ...]:
    """Page images for an image file, nothing for a PDF."""
    if not real.stat().st_size:
        raise InputError(f"{named}: an empty file; was the download interrupted?")
    if real.suffix.lower() in IMAGE_SUFFIXES:
        return (real,)
    with real.open("rb") as file:
        head = file.read(1024)
    if b"%PDF-" not in head:
        raise InputError(
            f"{named}: no PDF (it does not begin with %PDF-); name a PDF or a folder of page images"
        )
    return ()
