"""The `colqwen` encoder: a page as the patches of its image, by any late-interaction model of colpali-engine.

Faysse et al. (2024), "ColPali: Efficient Document Retrieval with Vision Language Models": a vision language
model reads the rendered page, and the hidden states of its image tokens, projected and L2-normalized, are the
page's multi-vector. Each comes with the box of the patch that it stands for; those of the prompt are dropped.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from indexes.encoders.colqwen_models import Boxes, ImageGrid, image_grid
from indexes.encoders.colqwen_weights import Loaded, load_model
from indexes.encoders.protocol import PageEmbedding, QueryEmbedding, Vectors
from indexes.encoders.quiet import quiet_libraries
from indexes.errors import InputError
from indexes.types import PageRef

if TYPE_CHECKING:
    from PIL.Image import Image

VERSION = 1  # of the rules that make vectors
VISUAL_TOKENS = 768
BATCHES = {"cuda": 8, "mps": 2, "cpu": 1}
QUERY_CHARACTERS = 4000  # beyond any question; the attention over more would only cost memory
RATIO = 100  # of a page's sides at most; Qwen's models refuse 200
WHOLE = np.array([[0, 0, 1, 1]], np.float32)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ColQwenSettings:
    """How pages are shown to the model.

    Attributes:
        max_num_visual_tokens: vectors a page at most, for the Qwen models; 768 by default.
        dpi: of the rendered pages; the model shrinks them to its visual tokens.
        batch_size: pages at a time; by default by the device. It halves when memory runs out.
        pool_factor: how many similar vectors of a page are merged into one in an index; 1 keeps all.
    """

    max_num_visual_tokens: int | None = None
    dpi: float = 144
    batch_size: int | None = None
    pool_factor: int = 1

    def __post_init__(self) -> None:
        tokens, batch = self.max_num_visual_tokens, self.batch_size
        if tokens is not None and not 16 <= tokens <= 16_384:
            raise InputError(f"max_num_visual_tokens {tokens}: expected 16 to 16384")
        if batch is not None and batch < 1:
            raise InputError(f"batch_size {batch}: expected at least 1")
        if not 36 <= self.dpi <= 600:
            raise InputError(f"dpi {self.dpi}: expected 36 to 600")
        if not 1 <= self.pool_factor <= 64:
            raise InputError(f"pool_factor {self.pool_factor}: expected 1 to 64")


class ColQwen:
    """An image encoder over a loaded model.

    Attributes:
        loaded: the model.
        revision: the model's class, a digest of its checkpoint and how pages are shown to it. The device does
            not enter: an index built on a GPU is searched from a CPU.
        dim: of its vectors.
        batch_size: pages at a time, as far as memory has allowed.
        pool_factor: as in the settings; it is no part of the revision: queries are the same.
    """

    name = "colqwen"

    def __init__(self, loaded: Loaded, settings: ColQwenSettings = ColQwenSettings()) -> None:  # noqa: B008
        self.loaded = loaded
        tokens = _limit_tokens(loaded, settings.max_num_visual_tokens)
        shown = f"{tokens}t-{settings.dpi:g}dpi-v{VERSION}"
        self.revision = f"{loaded.family.model}-{loaded.digest[:16]}-{shown}"
        self.dim = loaded.dim
        self.dpi = settings.dpi
        self.device = loaded.device
        self.pool_factor = settings.pool_factor
        self.batch_size = settings.batch_size or BATCHES[loaded.device.partition(":")[0]]

    def encode_images(self, refs: Sequence[PageRef], images: "Sequence[Image]") -> list[PageEmbedding]:
        """Embeds pages by their images: a vector for each patch, and their mean as the only pooled one.

        Only images that give the same grid of patches share a batch, so that none is ever padded.

        Args:
            refs: the pages, for what is returned.
            images: the pages as rendered at `dpi`, one for each ref.

        Raises:
            InputError: a page embeds to vectors that are not numbers or zero, or a single page does not fit
                into memory.
        """
        if len(refs) != len(images):
            raise ValueError(f"{len(refs)} pages, {len(images)} images: expected one each")
        images = [_within_ratio(image) for image in images]
        groups: dict[ImageGrid, list[int]] = {}
        for i, image in enumerate(images):
            groups.setdefault(self._grid(image), []).append(i)
        found: dict[int, PageEmbedding] = {}
        for group in groups.values():
            start = 0
            while start < len(group):
                part = group[start : start + self.batch_size]
                embeddings = self._attempt([refs[i] for i in part], [images[i] for i in part])
                found.update(zip(part, embeddings, strict=False))
                start += len(embeddings)
        return [found[i] for i in range(len(images))]

    def encode_query(self, text: str) -> QueryEmbedding:
        """Embeds a query: a vector for each token, those that the model adds to its queries included.

        A query without any word gives `q == 0` vectors and a pooled vector of zeros.
        """
        import torch

        processor = self.loaded.processor
        for token in processor.tokenizer.all_special_tokens:  # a document's question is text, not control
            text = text.replace(token, " ")
        text = text.strip()[:QUERY_CHARACTERS]
        if not text:
            return QueryEmbedding(np.zeros((0, self.dim), np.float32), np.zeros(self.dim, np.float32))
        batch = processor.process_queries([text]).to(self.loaded.model.device)
        with torch.inference_mode():
            output = self.loaded.model(**batch)
        vectors = _numbers(output[0][batch["attention_mask"][0].bool()])
        checked = self._checked(vectors, f"the query {text[:40]!r}")
        return QueryEmbedding(checked, _mean(checked))

    def _attempt(self, refs: Sequence[PageRef], images: "Sequence[Image]") -> list[PageEmbedding]:
        """Embeds as many of the first pages as memory allows; the batch size stays what it had to become."""
        while True:
            part = images[: self.batch_size]
            try:
                return self._encode(refs[: len(part)], part)
            except (MemoryError, RuntimeError) as error:
                if not is_out_of_memory(error):
                    raise
                reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            # Here the failed attempt's tensors are gone with its traceback.
            if len(part) == 1:
                raise InputError(
                    f"page {refs[0].page} of {refs[0].doc_id}: one page does not fit into the memory of "
                    f"{self.device} ({reason}); lower max_num_visual_tokens or take another device"
                )
            self.batch_size = len(part) // 2
            _free(self.device)
            _log.warning(
                "out of memory on %s: going on with %d pages at a time", self.device, self.batch_size
            )

    def _encode(self, refs: Sequence[PageRef], images: "Sequence[Image]") -> list[PageEmbedding]:
        import torch

        model, processor = self.loaded.model, self.loaded.processor
        with quiet_libraries():
            batch = processor.process_images(list(images))
        batch.pop("labels", None)  # for training: a loss over all words of the vocabulary
        masks = processor.get_image_mask(batch).bool() & batch["attention_mask"].bool()
        with torch.inference_mode():
            output = model(**batch.to(model.device))
        result = []
        for ref, image, states, mask in zip(refs, images, output, masks, strict=True):
            boxes = self._grid(image).boxes
            vectors = _numbers(states[mask.to(states.device)])
            if len(vectors) != len(boxes):
                raise RuntimeError(
                    f"page {ref.page} of {ref.doc_id}: {len(vectors)} image tokens, {len(boxes)} patches"
                )
            result.append(self._embedding(ref, vectors, boxes))
        return result

    def _grid(self, image: "Image") -> ImageGrid:
        return image_grid(self.loaded.family, self.loaded.processor, self.loaded.model, image.size)

    def _embedding(self, ref: PageRef, vectors: Vectors, boxes: Boxes) -> PageEmbedding:
        checked = self._checked(vectors, f"page {ref.page} of {ref.doc_id}")
        return PageEmbedding(ref, checked, boxes, _mean(checked)[None], WHOLE)

    def _checked(self, vectors: Vectors, what: str) -> Vectors:
        """The vectors at length 1 in 32 bits; the model has normalized them as well as its numbers allow."""
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        bad = ~(np.isfinite(norms) & (norms > 0.5))
        if bad.any():
            raise InputError(
                f"{what}: {int(bad.sum())} of {len(vectors)} vectors of model {self.loaded.name!r} are zero "
                f"or not numbers; its weights are damaged, or do not fit the number type on {self.device}"
            )
        result: Vectors = (vectors / norms).astype(np.float32)
        return result


def load_colqwen(
    model: str, *, base: str | None = None, device: str | None = None, settings: ColQwenSettings | None = None
) -> ColQwen:
    """Loads a checkpoint as an encoder; see `load_model` and `ColQwenSettings`.

    Raises:
        InputError: the checkpoint is not there, not whole, or its weights do not fit.
    """
    settings = settings or ColQwenSettings()
    return ColQwen(load_model(model, base=base, device=device), settings)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory has run out, on whatever device."""
    import torch

    phrases = ("out of memory", "not enough memory", "can't allocate memory", "cannot allocate memory")
    told = str(error).lower()
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or any(p in told for p in phrases)


def _limit_tokens(loaded: Loaded, asked: int | None) -> int:
    """Tells the processor how many visual tokens a page may have; returns the number, 0 where it is fixed."""
    if loaded.family.grid != "merged":
        if asked is not None:
            raise InputError(
                f"max_num_visual_tokens {asked}: {loaded.family.model} has a fixed number; leave it out"
            )
        return 0
    tokens = asked or VISUAL_TOKENS
    images = loaded.processor.image_processor
    side = images.patch_size * images.merge_size
    images.size["longest_edge"] = tokens * side * side  # an area, by its name in transformers
    images.size["shortest_edge"] = min(images.size["shortest_edge"], tokens * side * side)
    return tokens


def _within_ratio(image: "Image") -> "Image":
    """The image, stretched where it is too long and thin for the models; boxes are fractions all the same."""
    width, height = image.size
    least = -(-max(width, height) // RATIO)
    wanted = (max(width, least), max(height, least))
    return image if wanted == image.size else image.resize(wanted)


def _numbers(tensor: Any) -> NDArray[np.float32]:
    result: NDArray[np.float32] = tensor.float().cpu().numpy()
    return result


def _mean(vectors: Vectors) -> Vectors:
    mean = vectors.mean(axis=0)
    result: Vectors = (mean / max(float(np.linalg.norm(mean)), 1e-12)).astype(np.float32)
    return result


def _free(device: str) -> None:
    """Gives the device's cached memory back."""
    import gc

    import torch

    gc.collect()
    if device.startswith("cuda"):
        torch.cuda.empty_cache()
    elif device == "mps":
        torch.mps.empty_cache()
