"""The late-interaction models of colpali-engine that the `colqwen` encoder knows, one row each."""

import difflib
import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from indexes.encoders.torchvision_shim import make_torchvision_importable
from indexes.errors import InputError

Boxes = NDArray[np.float32]
Grid = Literal["merged", "square", "tiles"]

# What checkpoints may carry and a retriever never uses: the head that predicts the next word, the layers that
# predict the word after it, tables that the code computes.
LEFTOVERS = r"(^|\.)lm_head\.weight$|^(model\.)?mtp\.|rotary_emb\.inv_freq$|(^|\.)position_ids$"


@dataclass(frozen=True, slots=True)
class Family:
    """A family of models.

    Attributes:
        model_type: what a checkpoint's `config.json` says.
        model: its class in `colpali_engine.models`.
        processor: the class of its processor, there too.
        grid: how image tokens lie on the page: `merged` is a grid of merged patches whose size depends on the
            page (Qwen), `square` a fixed grid over the page squeezed to a square (PaliGemma), `tiles` square
            tiles row by row, each with a grid of its own, then the whole page once more (Idefics3).
        projection: the layer that makes the vectors.
    """

    model_type: str
    model: str
    processor: str
    grid: Grid = "merged"
    projection: str = "custom_text_proj"


FAMILIES: Mapping[str, Family] = {
    family.model_type: family
    for family in (
        Family("qwen2_vl", "ColQwen2", "ColQwen2Processor"),
        Family("qwen2_5_vl", "ColQwen2_5", "ColQwen2_5_Processor"),
        Family("qwen3_vl", "ColQwen3", "ColQwen3Processor"),
        Family("qwen3_5", "ColQwen3_5", "ColQwen3_5Processor"),
        Family("paligemma", "ColPali", "ColPaliProcessor", grid="square"),
        Family("idefics3", "ColIdefics3", "ColIdefics3Processor", grid="tiles", projection="linear"),
        Family("modernvbert", "ColModernVBert", "ColModernVBertProcessor", grid="tiles"),
    )
}

# Model types of checkpoints that hold such a model in another library's format.
FOREIGN = {
    "colqwen2": "it is in the format of transformers; take the one without -hf, as colpali-engine saves it",
    "colpali": "it is in the format of transformers; take the one without -hf, as colpali-engine saves it",
    "colqwen3": "it needs code that comes with the checkpoint, which is never run",
    "ops_colqwen3": "it needs code that comes with the checkpoint, which is never run",
}


def family_of(config: Mapping[str, Any], where: str) -> Family:
    """The row for a checkpoint, by its `config.json`.

    Args:
        config: the checkpoint's configuration.
        where: the checkpoint, in words, for the error.

    Raises:
        InputError: it is no late-interaction model that is known.
    """
    kind = str(config.get("model_type", ""))
    if kind in FOREIGN:
        raise InputError(f"{where}: model type {kind!r}: {FOREIGN[kind]}")
    if kind not in FAMILIES:
        close = difflib.get_close_matches(kind, FAMILIES, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise InputError(f"{where}: model type {kind!r} is not among {', '.join(FAMILIES)}{hint}")
    family = FAMILIES[kind]
    names = [str(name) for name in config.get("architectures") or ()]
    if any(name.startswith("Bi") for name in names):
        raise InputError(
            f"{where}: a {names[0]} gives one vector a page; late interaction needs a {family.model}"
        )
    return family


def import_colpali() -> Any:
    """`colpali_engine.models`, imported late because it takes seconds."""
    make_torchvision_importable()
    handlers = list(logging.root.handlers)
    import colpali_engine.models as models

    for handler in logging.root.handlers[:]:
        if handler not in handlers:  # the import logs, and so sets up logging for the whole program
            logging.root.removeHandler(handler)
    return models


@dataclass(frozen=True, slots=True)
class ImageGrid:
    """How the image tokens of a page lie on it: as many columns and rows, in tiles of `side` or not (0)."""

    columns: int
    rows: int
    side: int = 0

    @property
    def boxes(self) -> Boxes:
        """The box of each image token, in their order: `(n, 4)`, normalized `[x1, y1, x2, y2]`."""
        return (
            tile_boxes(self.columns, self.rows, self.side)
            if self.side
            else grid_boxes(self.columns, self.rows)
        )


def image_grid(family: Family, processor: Any, model: Any, size: tuple[int, int]) -> ImageGrid:
    """The grid of a page's image tokens.

    Args:
        family: the model's row.
        processor: its processor, with the number of visual tokens set.
        model: the model.
        size: width and height of the page's image in pixels.
    """
    width, height = size
    if family.grid == "merged":
        return ImageGrid(*processor.get_n_patches(size, spatial_merge_size=model.spatial_merge_size))
    if family.grid == "square":
        vision = model.config.vision_config
        side = vision.image_size // vision.patch_size
        return ImageGrid(side, side)
    images = processor.image_processor
    side = math.isqrt(processor.image_seq_len)
    if not images.do_image_splitting:
        return ImageGrid(0, 0, side)
    edge, tile = images.size["longest_edge"], images.max_image_size["longest_edge"]
    scale = edge / max(width, height)
    columns, rows = (math.ceil(round(length * scale) / tile) for length in size)
    return ImageGrid(columns, rows, side) if columns * rows > 1 else ImageGrid(0, 0, side)


def grid_boxes(columns: int, rows: int) -> Boxes:
    """The boxes of an evenly divided page, row by row: `(columns * rows, 4)`, normalized."""
    k = np.arange(columns * rows)
    x, y = k % columns, k // columns
    boxes = np.stack([x / columns, y / rows, (x + 1) / columns, (y + 1) / rows], axis=1)
    return boxes.astype(np.float32)


def tile_boxes(columns: int, rows: int, side: int) -> Boxes:
    """The boxes of a page cut into tiles, each of `side * side` tokens: tile by tile, then the whole page.

    Args:
        columns: tiles side by side; 0 when the page was not cut.
        rows: tiles one above the other.
        side: tokens along a tile's side.
    """
    whole = grid_boxes(side, side)
    if not columns or not rows:
        return whole
    scale = np.array([columns, rows, columns, rows], np.float32)
    tiles = [
        (whole + np.array([column, row, column, row], np.float32)) / scale
        for row in range(rows)
        for column in range(columns)
    ]
    return np.concatenate([*tiles, whole]).astype(np.float32)
