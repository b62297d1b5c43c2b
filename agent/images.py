"""Pictures of the pages of a run's documents, for readers that see."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from indexes.types import BBox, PageRef

if TYPE_CHECKING:
    from PIL.Image import Image


class Rendered(Protocol):
    """A document whose pages can be rendered."""

    def render(self, number: int, dpi: float = 144) -> "Image":
        """A page as it is seen; raises ValueError where it cannot be rendered."""
        ...


class DocumentImages:
    """Renders pages and regions of documents by their ids."""

    def __init__(self, documents: Mapping[str, Rendered]) -> None:
        self._documents = documents

    def render(self, ref: PageRef, dpi: float, region: BBox | None = None) -> "Image":
        """A page at a resolution, or a region of it at that resolution, whole pixels outward.

        Raises:
            ValueError: there is no such document or page, or it cannot be rendered.
        """
        if ref.doc_id not in self._documents:
            raise ValueError(f"page {ref.page} of {ref.doc_id}: there is no such document")
        image = self._documents[ref.doc_id].render(ref.page, dpi)
        if region is None:
            return image
        width, height = image.size
        left, top = math.floor(region.x1 * width), math.floor(region.y1 * height)
        right, bottom = math.ceil(region.x2 * width), math.ceil(region.y2 * height)
        left, top = min(left, width - 1), min(top, height - 1)
        return image.crop((left, top, max(right, left + 1), max(bottom, top + 1)))
