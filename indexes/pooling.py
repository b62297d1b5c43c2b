"""Fewer vectors a page: similar ones merged into their mean, by colpali-engine's hierarchical pooler.

Clavié et al. (2024), "Reducing the Footprint of Multi-Vector Retrieval with Minimal Performance Impact via
Token Pooling". A merged vector takes the box of the vector nearest to it among those that it stands for:
the box that covers them all would often be the whole page, for what a page repeats (margins, rules) is
merged first.
"""

import warnings

import numpy as np
from numpy.typing import NDArray

from indexes.encoders.protocol import PageEmbedding, Vectors
from indexes.encoders.torchvision_shim import make_torchvision_importable


def pooled_page(page: PageEmbedding, factor: int) -> PageEmbedding:
    """The page with about one vector for each `factor` of its multi-vector, in reading order.

    The pooled vectors for single-vector search stay as they are, as does everything where `factor` is 1.
    """
    if factor == 1 or len(page.vectors) < 2:
        return page
    vectors, nearest = pool(page.vectors, factor)
    return PageEmbedding(page.ref, vectors, page.boxes[nearest], page.pooled, page.pooled_boxes)


def pool(vectors: Vectors, factor: int) -> tuple[Vectors, NDArray[np.int64]]:
    """Merges vectors `(n, dim)`, at least two, into at most `max(n // factor, 1)`.

    Returns:
        The merged vectors `(m, dim)`, L2-normalized, and for each the place `(m,)` of the vector nearest to
        it among those merged into it; in the order of these places.
    """
    make_torchvision_importable()
    import torch
    from colpali_engine.compression.token_pooling import HierarchicalTokenPooler

    given = torch.from_numpy(np.ascontiguousarray(vectors, np.float32))
    with warnings.catch_warnings():
        # It clusters rows of distances on purpose, of which SciPy thinks that they may be a mistake.
        warnings.filterwarnings("ignore", message=".*uncondensed distance matrix")
        output = HierarchicalTokenPooler().pool_embeddings([given], return_dict=True, pool_factor=factor)
    merged: Vectors = output.pooled_embeddings[0].numpy()
    groups = [found[0].numpy() for found in output.cluster_id_to_indices[0].values()]
    groups = [group for group in groups if len(group)]
    nearest = [
        group[int(np.argmax(vectors[group] @ mean))] for group, mean in zip(groups, merged, strict=True)
    ]
    order = np.argsort(nearest, kind="stable")
    return merged[order].astype(np.float32), np.array(nearest, np.int64)[order]
