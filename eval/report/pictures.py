"""The pictures of a report: each page once, small, inside the HTML or in a folder beside it."""

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from agent.page import Picture, encode_page
from indexes.cache import write_atomic
from indexes.document import Document
from indexes.errors import InputError
from indexes.files import document_id
from indexes.progress import bar
from indexes.types import PageRef

Mode = Literal["auto", "embed", "beside", "none"]
DPI, QUALITY = 72, 50
EMBEDDED = 400
"""Pages up to which `auto` puts the pictures into the HTML: about 15 MB; more lie beside it."""

MAX_PAGES = 6
"""Pages that a question of a report shows."""


class PictureStore:
    """Pictures by page.

    Attributes:
        embedded: of those inside the HTML, the key of each and its WebP in base64.
        failed: pages without a picture, and why.
    """

    def __init__(self, folder: Path, mode: Mode, *, quiet: bool = True) -> None:
        self._folder, self._mode, self._quiet = folder, mode, quiet
        self._pictures: dict[PageRef, Picture] = {}
        self.embedded: list[tuple[str, str]] = []
        self.failed: dict[PageRef, str] = {}

    def render(self, wanted: Mapping[Path, Sequence[int]]) -> None:
        """Renders pages, document by document; a page that cannot be rendered stays without a picture.

        Args:
            wanted: pages by document.

        Raises:
            InputError: a picture cannot be written beside the HTML.
        """
        total = sum(map(len, wanted.values()))
        if self._mode == "none" or not total:
            return
        embed = self._mode == "embed" or (self._mode == "auto" and total <= EMBEDDED)
        with bar(total, "pictures", "page", self._quiet) as progress:
            for path, numbers in wanted.items():
                try:
                    with Document.open(path) as document:
                        for number in numbers:
                            self._add(document, number, embed)
                            progress.update(1)
                except InputError as error:
                    doc_id = document_id(path)
                    self.failed |= {PageRef(doc_id, number): str(error) for number in numbers}

    def _add(self, document: Document, number: int, embed: bool) -> None:
        ref = PageRef(document.doc_id, number)
        try:
            webp, width, height = encode_page(document, number, DPI, QUALITY)
        except ValueError as error:
            self.failed[ref] = str(error)
            return
        key = f"p{len(self._pictures)}"
        if embed:
            self.embedded.append((key, base64.b64encode(webp).decode()))
            self._pictures[ref] = Picture(width, height, key=key)
        else:
            write_atomic(self._folder / f"{key}.webp", webp)
            self._pictures[ref] = Picture(width, height, src=f"{quote(self._folder.name)}/{key}.webp")

    @property
    def pictures(self) -> Mapping[PageRef, Picture]:
        """The pictures that could be made."""
        return self._pictures
