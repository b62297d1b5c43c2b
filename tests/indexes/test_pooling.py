"""Pooling against colpali-engine's own; the boxes of what is merged; the factor in manifest and commands."""

import argparse

import numpy as np
import pytest

from agent.config import load_config
from indexes.encoders import load_encoder
from indexes.encoders.colqwen import ColQwenSettings
from indexes.encoders.options import add_encoder_options, given_settings
from indexes.encoders.protocol import PageEmbedding
from indexes.encoders.torchvision_shim import make_torchvision_importable
from indexes.errors import InputError
from indexes.pooling import pool, pooled_page
from indexes.types import PageRef
from indexes.vectors import IndexSettings, settings_dict

RNG = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    import torch

    torch.set_num_threads(1)


def unit(*shape: int) -> np.ndarray:
    vectors = RNG.standard_normal(shape).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def page_of(vectors: np.ndarray) -> PageEmbedding:
    corners = np.arange(len(vectors), dtype=np.float32)[:, None] / max(1, len(vectors))
    boxes = np.repeat(corners, 4, axis=1)
    return PageEmbedding(PageRef("a", 1), vectors, boxes, vectors[:1], boxes[:1])


@pytest.mark.parametrize("factor", [2, 3, 10, 50])
def test_merged_vectors_are_those_of_colpali_engine(factor: int) -> None:
    make_torchvision_importable()
    import torch
    from colpali_engine.compression.token_pooling import HierarchicalTokenPooler

    vectors = unit(40, 16)
    expected = HierarchicalTokenPooler().pool_embeddings([torch.from_numpy(vectors)], pool_factor=factor)[0]
    merged, nearest = pool(vectors, factor)
    assert len(merged) == max(1, 40 // factor) == len(nearest)
    assert sorted(map(tuple, merged.tolist())) == sorted(map(tuple, expected.tolist()))
    assert np.linalg.norm(merged, axis=1) == pytest.approx(1, abs=1e-5)


def test_a_merged_vector_takes_the_box_of_the_one_nearest_to_it_in_reading_order() -> None:
    groups = unit(5, 16)
    vectors = groups[[0, 1, 2, 0, 1, 2, 3, 4, 3, 4]] + 0.01 * unit(10, 16)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    page = page_of(vectors.astype(np.float32))
    pooled = pooled_page(page, 2)
    assert len(pooled.vectors) == 5
    rows = [page.boxes.tolist().index(box) for box in pooled.boxes.tolist()]
    assert rows == sorted(rows)
    for row, vector in zip(rows, pooled.vectors, strict=True):
        assert float(vector @ page.vectors[row]) > 0.999
    assert pooled.pooled is page.pooled and pooled.ref == page.ref


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_pages_of_hardly_any_vectors_are_pooled_too(count: int) -> None:
    page = page_of(unit(3, 16)[:count])
    assert len(pooled_page(page, 3).vectors) == min(count, 1)
    assert pooled_page(page, 1) is page


def test_the_factor_stands_in_the_manifest_only_where_it_does_something() -> None:
    assert settings_dict(IndexSettings(128, 16)) == {"dim": 128, "bits": 16}
    assert settings_dict(IndexSettings(128, 16, 3)) == {"dim": 128, "bits": 16, "pool_factor": 3}


@pytest.mark.parametrize("factor", [0, -1, 65])
def test_factors_out_of_range_are_refused(factor: int) -> None:
    with pytest.raises(InputError, match=f"pool_factor {factor}: expected 1 to 64"):
        IndexSettings(pool_factor=factor)
    with pytest.raises(InputError, match=f"pool_factor {factor}: expected 1 to 64"):
        ColQwenSettings(pool_factor=factor)
    with pytest.raises(InputError, match=f"--pool-factor {factor}"):
        load_config("cpu", pool_factor=factor)


def test_command_and_config_hand_the_factor_to_the_encoder() -> None:
    parser = argparse.ArgumentParser()
    add_encoder_options(parser)
    options = parser.parse_args(["--encoder", "colqwen", "--model", "x", "--pool-factor", "3"])
    assert given_settings(options) == {"model": "x", "pool_factor": 3}
    assert load_config("colqwen", pool_factor=3).encoder_settings["pool_factor"] == 3
    with pytest.raises(InputError, match="'minilm' has no pool_factor"):
        load_encoder("minilm", pool_factor=3)
