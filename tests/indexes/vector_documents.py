"""Documents that are nothing but vectors, for tests of indexes: no PDF, no model."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from indexes.encoders.protocol import PageEmbedding, QueryEmbedding
from indexes.index import PageIndex
from indexes.types import PageRef
from indexes.vectors import IndexSettings, check_index, part_of, settings_dict, write_index

DIM = 32


def unit(random: np.random.Generator, *shape: int) -> np.ndarray:
    vectors = random.standard_normal(shape).astype(np.float32)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-9)


def clustered_pages(pages: int, seed: int = 0, empty: Sequence[int] = ()) -> list[np.ndarray]:
    """Pages of 20 to 40 vectors around directions, of which each has some of its own and some of all."""
    random = np.random.default_rng(seed)
    common = unit(random, 8, DIM)
    result = []
    for page in range(pages):
        centres = np.concatenate([common, unit(random, 8, DIM)])
        count = 0 if page in empty else int(random.integers(20, 41))
        shown = centres[random.integers(0, len(centres), count)]
        result.append(unit(np.random.default_rng([seed, page]), count, DIM) * 0.6 + shown)
    return [(page / np.linalg.norm(page, axis=1, keepdims=True)).astype(np.float32) for page in result]


def query_near(page: np.ndarray, count: int = 8, seed: int = 0) -> QueryEmbedding:
    """A query of vectors near some of a page's."""
    random = np.random.default_rng(seed)
    vectors = page[random.choice(len(page), count, replace=False)] + 0.4 * unit(random, count, DIM)
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return QueryEmbedding(vectors, vectors[0])


def write(
    folder: Path,
    name: str,
    pages: Sequence[np.ndarray],
    settings: IndexSettings | None = None,
    **about: object,
) -> PageIndex:
    """Writes and opens the index of a document with such pages."""
    settings = settings or IndexSettings(DIM, bits=16)
    told = {
        "document": f"sha of {name}",
        "words": "",
        "pages": len(pages),
        "encoder": "test",
        "revision": "1",
    }
    told |= {"doc_id": name, "settings": settings_dict(settings), **about}
    folder.mkdir(parents=True)
    box = np.array([[0.1, 0.2, 0.3, 0.4]], np.float32)
    embeddings = []
    for i, page in enumerate(pages):
        boxes = np.repeat(box, len(page), axis=0)
        embeddings.append(PageEmbedding(PageRef(name, i + 1), page, boxes, page[:1], boxes[:1]))
    parts = [part_of(embeddings[i : i + 16]) for i in range(0, len(embeddings), 16)]
    write_index(folder, lambda: iter(parts), told)
    return PageIndex(folder, [e.ref for e in embeddings], check_index(folder, {}))


def brute(query: QueryEmbedding, pages: Sequence[np.ndarray]) -> np.ndarray:
    """MaxSim by nothing but its definition."""
    return np.array(
        [float((page @ query.vectors.T).max(axis=0).sum()) if len(page) else -np.inf for page in pages]
    )
