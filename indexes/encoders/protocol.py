"""What an encoder is: pages and queries to vectors, every page vector with its place on the page."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from indexes.types import Page, PageRef

if TYPE_CHECKING:
    from PIL.Image import Image

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class PageEmbedding:
    """A page as vectors, all L2-normalized.

    Attributes:
        vectors: `(n, dim)`, the multi-vector that late interaction compares (ColQwen patches, words of text).
        boxes: `(n, 4)`, the place of each vector, normalized `[x1, y1, x2, y2]`.
        pooled: `(m, pooled_dim)`, few vectors for single-vector search (windows of text, the mean of
            patches).
        pooled_boxes: `(m, 4)`, the place of each pooled vector.
    """

    ref: PageRef
    vectors: Vectors
    boxes: Vectors
    pooled: Vectors
    pooled_boxes: Vectors


@dataclass(frozen=True, slots=True)
class QueryEmbedding:
    """A query: `vectors` `(q, dim)` for late interaction, `pooled` `(pooled_dim,)`; L2-normalized."""

    vectors: Vectors
    pooled: Vectors


class Encoder(Protocol):
    """Turns queries into vectors, and pages too: by their words or by their images.

    `name` and `revision` go into the index's manifest.
    """

    name: str
    revision: str

    def encode_query(self, text: str) -> QueryEmbedding:
        """Embeds a query; an empty one gives `q == 0` vectors."""
        ...


class TextEncoder(Encoder, Protocol):
    """An encoder that reads the words of pages."""

    def encode_pages(self, pages: Sequence[Page]) -> list[PageEmbedding]:
        """Embeds pages; the result of a page does not depend on the others in the call."""
        ...


@runtime_checkable
class ImageEncoder(Encoder, Protocol):
    """An encoder that looks at pages.

    Attributes:
        dpi: at which pages are rendered.
        dim: of all its vectors.
        batch_size: how many pages it takes at a time, at present.
        pool_factor: how many similar vectors of a page the index is to merge into one; 1 keeps all.
    """

    dpi: float
    dim: int
    batch_size: int
    pool_factor: int

    def encode_images(self, refs: Sequence[PageRef], images: "Sequence[Image]") -> list[PageEmbedding]:
        """Embeds pages by their images, one for each ref; a page's result does not depend on the others."""
        ...


PageEncoder = TextEncoder | ImageEncoder
