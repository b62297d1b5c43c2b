"""Pages of a document to vectors, by an encoder that reads their words or one that looks at their images."""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from indexes.encoders.protocol import ImageEncoder, PageEmbedding, PageEncoder
from indexes.types import PageRef

if TYPE_CHECKING:
    from indexes.document import Document

_log = logging.getLogger(__name__)


def embed_pages(doc: "Document", encoder: PageEncoder, numbers: Sequence[int]) -> list[PageEmbedding]:
    """Embeds pages of a document, given by their rising 1-based `numbers`.

    A page that cannot be rendered has no vectors for an encoder that looks at images: it is never found by
    them, and a warning says so.
    """
    if not isinstance(encoder, ImageEncoder):
        return encoder.encode_pages(list(doc.pages(numbers)))
    refs, images = [], []
    for number in numbers:
        try:
            images.append(doc.render(number, encoder.dpi))
            refs.append(PageRef(doc.doc_id, number))
        except ValueError as error:
            _log.warning("%s; it gets no vectors", error)
    found = {embedding.ref.page: embedding for embedding in encoder.encode_images(refs, images)}
    return [found.get(number) or _nothing(PageRef(doc.doc_id, number), encoder.dim) for number in numbers]


def _nothing(ref: PageRef, dim: int) -> PageEmbedding:
    vectors, boxes = np.zeros((0, dim), np.float32), np.zeros((0, 4), np.float32)
    return PageEmbedding(ref, vectors, boxes, vectors, boxes)
