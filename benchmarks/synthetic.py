"""Made-up page vectors that cluster as real ones do, for the benchmarks of search.

Patches show concepts: a vector is that of a concept with noise added. Some concepts are on every page
(margins, rules, headings); some belong to a topic, which twenty-five neighbouring pages are about, each by
a choice of them; some are the page's own. A query is some vectors of one page with noise added, so that
its page is the best, and others of its topic are better than the rest by what they share with it.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from indexes.encoders.protocol import PageEmbedding, QueryEmbedding
from indexes.index import PageIndex
from indexes.types import PageRef
from indexes.vectors import IndexSettings, Part, check_index, part_of, settings_dict, write_index

Floats = NDArray[np.float32]
DIM = 128
VECTORS = (700, 750)  # on a page
TOPIC_PAGES = 25
BACKGROUND = 64  # concepts that are everywhere
TOPIC, CHOSEN = 48, 16  # concepts of a topic, and of those on a page
OWN = 16  # concepts of a page alone
PART = 16
NOISE = 0.9
BOX = np.array([[0, 0, 1, 1]], np.float32)


def unit(vectors: Floats) -> Floats:
    """The vectors at length 1."""
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


def directions(kind: int, number: int, count: int) -> Floats:
    """`count` random unit vectors that are always the same for a kind and number."""
    random = np.random.default_rng([kind, number])
    return unit(random.standard_normal((count, DIM), dtype=np.float32))


def page_vectors(number: int) -> Floats:
    """The vectors of page `number` of the whole corpus."""
    random = np.random.default_rng([3, number])
    topic = directions(1, number // TOPIC_PAGES, TOPIC)[random.choice(TOPIC, CHOSEN, replace=False)]
    concepts = np.concatenate([directions(0, 0, BACKGROUND), topic, directions(2, number, OWN)])
    weights = np.repeat([0.4 / BACKGROUND, 0.4 / CHOSEN, 0.2 / OWN], [BACKGROUND, CHOSEN, OWN])
    count = int(random.integers(VECTORS[0], VECTORS[1] + 1))
    shown = concepts[random.choice(len(concepts), count, p=weights)]
    return unit(shown + NOISE * unit(random.standard_normal((count, DIM), dtype=np.float32)))


def query_of(number: int, count: int = 20, noise: float = 0.8) -> QueryEmbedding:
    """A query of `count` vectors for page `number`."""
    random = np.random.default_rng([4, number])
    vectors = page_vectors(number)
    chosen = vectors[random.choice(len(vectors), count, replace=False)]
    vectors = unit(chosen + noise * unit(random.standard_normal(chosen.shape, dtype=np.float32)))
    return QueryEmbedding(vectors, unit(vectors.mean(axis=0)))


def write_document(
    folder: Path, name: str, numbers: Sequence[int], made: Sequence[Floats] | None = None
) -> PageIndex:
    """Writes the index of a document with these pages into a new folder, a part of it in memory at a time.

    What was made of these pages already need not be made again.
    """

    def parts() -> Iterator[Part]:
        for start in range(0, len(numbers), PART):
            rows = range(start, min(start + PART, len(numbers)))
            vectors = [page_vectors(numbers[i]) if made is None else made[i] for i in rows]
            yield part_of(embedding(name, i, page) for i, page in zip(rows, vectors, strict=True))

    settings = settings_dict(IndexSettings(DIM, bits=16))
    about = {"document": name, "pages": len(numbers), "encoder": "synthetic", "revision": "1", "doc_id": name}
    about["settings"] = settings
    folder.mkdir(parents=True)
    write_index(folder, parts, about)
    refs = [PageRef(name, page) for page in range(1, len(numbers) + 1)]
    return PageIndex(folder, refs, check_index(folder, about, checksums=False))


def embedding(name: str, row: int, vectors: Floats) -> PageEmbedding:
    """Vectors as the page in this row of a document."""
    boxes = np.repeat(BOX, len(vectors), axis=0)
    return PageEmbedding(PageRef(name, row + 1), vectors, boxes, unit(vectors.mean(axis=0))[None], BOX)
