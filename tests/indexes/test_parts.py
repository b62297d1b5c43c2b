"""Builds that are interrupted: what is lost, what is used again, and that the bytes come out the same."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from indexes.cache import cache_root
from indexes.encoders.protocol import ImageEncoder, PageEmbedding, QueryEmbedding
from indexes.index import PageIndex, _missing
from indexes.types import PageRef

PAGES = 23


class ImagePatches:
    """An image encoder without a model: a page's vectors follow from its number."""

    name, revision, dpi, dim = "image patches", "1", 36.0, 16

    def __init__(self, batch_size: int = 4, pool_factor: int = 1, fails_at: int = 0, slow: float = 0) -> None:
        self.batch_size, self.pool_factor, self.fails_at, self.slow = batch_size, pool_factor, fails_at, slow
        self.batches: list[list[int]] = []

    def encode_images(self, refs: Sequence[PageRef], images: Sequence[Any]) -> list[PageEmbedding]:
        """As an encoder does."""
        numbers = [ref.page for ref in refs]
        if self.fails_at in numbers:
            raise RuntimeError("the encoder broke")
        time.sleep(self.slow)
        self.batches.append(numbers)
        return [self._page(ref) for ref in refs]

    def _page(self, ref: PageRef) -> PageEmbedding:
        vectors = np.random.default_rng(ref.page).standard_normal((6 + ref.page % 4, self.dim))
        vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
        boxes = np.tile(np.array([0, 0, 1, 1], np.float32), (len(vectors), 1))
        return PageEmbedding(ref, vectors, boxes, vectors[:1], boxes[:1])

    def encode_query(self, text: str) -> QueryEmbedding:
        """One vector."""
        vectors = np.eye(1, self.dim, dtype=np.float32)
        return QueryEmbedding(vectors, vectors[0])


class Images:
    """A document of images that nobody looks at."""

    doc_id, sha256, key = "images", "sha of images", "no words"

    def __len__(self) -> int:
        return PAGES

    def render(self, number: int, dpi: float) -> None:
        """Nothing is rendered."""


def built(root: Path, encoder: ImagePatches, **more: Any) -> PageIndex:
    return PageIndex.open_or_build(Images(), encoder, root=root, **more)  # type: ignore[arg-type]


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_fake_is_an_image_encoder() -> None:
    assert isinstance(ImagePatches(), ImageEncoder)


def test_an_index_is_built_in_a_folder_of_ones_own_and_not_in_the_cache(tmp_path: Path) -> None:
    before = set(cache_root().glob("index/*/*"))
    index = built(tmp_path, ImagePatches())
    assert index.folder.parent == tmp_path and set(cache_root().glob("index/*/*")) == before
    assert PageIndex.open(index.folder).refs == index.refs
    assert PageIndex.open(index.folder).manifest["doc_id"] == "images"
    again = ImagePatches()
    assert built(tmp_path, again).manifest == index.manifest and again.batches == []


@pytest.mark.parametrize(("fails_at", "kept"), [(1, 0), (4, 0), (5, 4), (22, 20)])
def test_no_more_than_a_batch_is_lost(tmp_path: Path, fails_at: int, kept: int) -> None:
    with pytest.raises(RuntimeError, match="the encoder broke"):
        built(tmp_path, ImagePatches(fails_at=fails_at))
    rest = ImagePatches()
    index = built(tmp_path, rest)
    assert sum(rest.batches, []) == list(range(kept + 1, PAGES + 1))
    assert sorted(p.name for p in tmp_path.iterdir()) == [index.folder.name, f"{index.folder.name}.lock"]


def test_batches_of_another_size_go_on_from_the_same_parts_to_the_same_bytes(tmp_path: Path) -> None:
    whole = built(tmp_path / "whole", ImagePatches())
    with pytest.raises(RuntimeError):
        built(tmp_path / "again", ImagePatches(batch_size=5, fails_at=13))
    rest = ImagePatches(batch_size=3)
    index = built(tmp_path / "again", rest)
    assert rest.batches == [[11, 12, 13], [14, 15, 16], [17, 18, 19], [20, 21, 22], [23]]
    assert files(index.folder) == files(whole.folder)


def test_pages_between_parts_are_found_missing() -> None:
    have = [range(1, 4), range(6, 7), range(7, 9)]
    assert _missing(have, 12, 2) == [range(4, 6), range(9, 11), range(11, 13)]
    assert _missing([], 3, 2) == [range(1, 3), range(3, 4)]
    assert _missing([range(1, 4)], 3, 2) == []


def test_a_lost_or_damaged_part_in_the_middle_is_made_again_alone(tmp_path: Path) -> None:
    whole = built(tmp_path / "whole", ImagePatches())
    with pytest.raises(RuntimeError):
        built(tmp_path / "again", ImagePatches(fails_at=22))
    parts = sorted((tmp_path / "again").glob("*.parts/*.npz"))
    assert [p.stem for p in parts][:2] == ["000001-000004", "000005-000008"]
    parts[1].unlink()
    parts[3].write_bytes(parts[3].read_bytes()[:-20])
    rest = ImagePatches()
    index = built(tmp_path / "again", rest)
    assert rest.batches == [[5, 6, 7, 8], [13, 14, 15, 16], [21, 22, 23]]
    assert files(index.folder) == files(whole.folder)


def test_progress_counts_all_pages_and_is_silent_where_nothing_is_built(tmp_path: Path) -> None:
    seen: list[int] = []
    with pytest.raises(RuntimeError):
        built(tmp_path, ImagePatches(fails_at=9), progress=seen.append)
    assert sum(seen) == 8
    seen.clear()
    built(tmp_path, ImagePatches(), progress=seen.append)
    assert sum(seen) == PAGES and seen[0] == 8
    seen.clear()
    built(tmp_path, ImagePatches(), progress=seen.append)
    assert seen == []


def test_pooled_pages_are_another_index_with_fewer_vectors(tmp_path: Path) -> None:
    whole, pooled = built(tmp_path, ImagePatches()), built(tmp_path, ImagePatches(pool_factor=3))
    assert whole.folder != pooled.folder
    assert pooled.manifest["settings"]["pool_factor"] == 3
    expected = sum((6 + page % 4) // 3 for page in range(1, PAGES + 1))
    assert pooled.manifest["counts"]["vectors"] <= expected < whole.manifest["counts"]["vectors"]


SLOW = """
import sys
from pathlib import Path
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/tests/indexes"]
from test_parts import ImagePatches, built
built(Path(sys.argv[2]), ImagePatches(slow=0.4))
"""


def test_ten_kills_at_random_end_in_the_bytes_of_an_undisturbed_build(tmp_path: Path) -> None:
    whole = built(tmp_path / "whole", ImagePatches())
    root = str(Path(__file__).parents[2])
    chance = random.Random(5)
    kills = 0
    for _ in range(10):
        command = [sys.executable, "-c", SLOW, root, str(tmp_path / "killed")]
        process = subprocess.Popen(command, env=dict(os.environ))
        try:
            process.wait(chance.uniform(0.3, 1.0))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
    index = built(tmp_path / "killed", ImagePatches())
    assert kills
    assert files(index.folder) == files(whole.folder)
    left = sorted(path.name for path in (tmp_path / "killed").iterdir())
    assert left == [index.folder.name, f"{index.folder.name}.lock"]


def test_what_a_kill_while_publishing_left_is_removed(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError):
        built(tmp_path, ImagePatches(fails_at=9))
    (parts,) = tmp_path.glob("*.parts")
    left = tmp_path / f".{parts.name.removesuffix('.parts')}.0123456789ab.tmp"
    other = tmp_path / ".another.0123456789ab.tmp"
    for folder in (left, other):
        folder.mkdir()
        (folder / "vectors.faiss").touch()
    built(tmp_path, ImagePatches())
    assert not left.exists() and other.exists()
