"""The encoder over images: each vector with its patch, no prompt, no padding, whatever the batch."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from colqwen_checkpoints import QWEN, copy_of, edit_tensors, merged, other, picture, refs
from PIL import Image, ImageDraw

from indexes.encoders.colqwen import ColQwen, ColQwenSettings, is_out_of_memory, load_colqwen
from indexes.encoders.colqwen_models import grid_boxes, tile_boxes
from indexes.encoders.colqwen_weights import load_model
from indexes.encoders.protocol import ImageEncoder
from indexes.errors import InputError

OTHERS = ("qwen3_5", "paligemma", "idefics3", "modernvbert")
SMALL = ColQwenSettings(max_num_visual_tokens=64, batch_size=4)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    import torch

    torch.set_num_threads(1)


def encoder_of(family: str, **settings: Any) -> ColQwen:
    folder = other(family) if family in OTHERS else merged(family)
    if family.startswith("qwen"):
        settings = {"max_num_visual_tokens": 64, **settings}
    return load_colqwen(str(folder), device="cpu", settings=ColQwenSettings(batch_size=4, **settings))


class Strict:
    """A model that has memory for so many pages only, and notes the batches that it was asked for."""

    def __init__(self, model: Any, most: int, error: BaseException) -> None:
        self.model, self.most, self.error = model, most, error
        self.batches: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def __call__(self, **batch: Any) -> Any:  # noqa: D102
        self.batches.append(len(batch["input_ids"]))
        if self.batches[-1] > self.most:
            raise self.error
        return self.model(**batch)


def with_model(encoder: ColQwen, model: Any, **settings: Any) -> ColQwen:
    loaded = dataclasses.replace(encoder.loaded, model=model)
    return ColQwen(loaded, ColQwenSettings(max_num_visual_tokens=64, **settings))


@pytest.mark.parametrize("family", [*QWEN, *OTHERS])
@pytest.mark.parametrize("size", [(170, 220), (220, 150)])
def test_a_black_patch_changes_the_vector_of_its_box_most(family: str, size: tuple[int, int]) -> None:
    encoder = encoder_of(family)
    width, height = size
    white = Image.new("RGB", size, "white")
    before = encoder.encode_images(refs(1), [white])[0]
    boxes = before.boxes
    if family in ("idefics3", "modernvbert"):
        boxes = boxes[:-4]  # the whole page once more, where a patch also changes what stands for its tile
    chosen = range(0, len(boxes), 3)
    pages = []
    for k in chosen:
        page = white.copy()
        x1, y1, x2, y2 = np.rint(boxes[k] * [width, height, width, height]).tolist()
        ImageDraw.Draw(page).rectangle((x1, y1, x2 - 1, y2 - 1), fill="black")
        pages.append(page)
    for k, after in zip(chosen, encoder.encode_images(refs(len(pages)), pages), strict=True):
        change = np.linalg.norm(after.vectors - before.vectors, axis=1)
        assert int(change.argmax()) == k


@pytest.mark.parametrize("family", QWEN)
def test_a_black_patch_changes_the_pixels_that_the_model_is_shown_there(family: str) -> None:
    encoder = encoder_of(family)
    processor, size = encoder.loaded.processor, (168, 224)
    white = Image.new("RGB", size, "white")
    boxes = encoder.encode_images(refs(1), [white])[0].boxes
    shown = processor.process_images([white])["pixel_values"][0].numpy()
    for k in (0, 7, len(boxes) - 1):
        page = white.copy()
        x1, y1, x2, y2 = np.rint(boxes[k] * [*size, *size]).tolist()
        ImageDraw.Draw(page).rectangle((x1, y1, x2 - 1, y2 - 1), fill="black")
        change = np.abs(processor.process_images([page])["pixel_values"][0].numpy() - shown).sum(axis=1)
        merged_change = change.reshape(-1, 4).sum(axis=1)  # four patches make a token
        assert merged_change.argmax() == k
        assert merged_change[k] > 0.5 * merged_change.sum()


@pytest.mark.parametrize("family", QWEN)
def test_vectors_are_those_of_the_model_at_the_image_tokens_and_nothing_else(family: str) -> None:
    import torch

    encoder = encoder_of(family)
    image = picture(170, 220, 1)
    loaded = encoder.loaded
    batch = loaded.processor.process_images([image])
    with torch.no_grad():
        output = loaded.model(**batch)[0]
    token = loaded.processor.tokenizer.convert_tokens_to_ids("<|image_pad|>")
    places = [i for i, t in enumerate(batch["input_ids"][0].tolist()) if t == token]
    embedding = encoder.encode_images(refs(1), [image])[0]
    assert len(places) < output.shape[0]  # there is a prompt, and it is left out
    assert np.abs(embedding.vectors - output[places].numpy()).max() < 1e-6
    assert embedding.vectors.shape == (len(places), encoder.dim)
    assert embedding.boxes.shape == (len(places), 4)
    areas = (embedding.boxes[:, 2] - embedding.boxes[:, 0]) * (embedding.boxes[:, 3] - embedding.boxes[:, 1])
    assert areas.sum() == pytest.approx(1, abs=1e-4)
    mean = embedding.vectors.mean(axis=0)
    assert np.allclose(embedding.pooled, mean / np.linalg.norm(mean), atol=1e-6)
    assert embedding.pooled_boxes.tolist() == [[0, 0, 1, 1]]


@pytest.mark.parametrize("family", [*QWEN, *OTHERS])
def test_a_page_embeds_the_same_alone_and_among_others(family: str) -> None:
    encoder = encoder_of(family)
    sizes = [(170, 220), (220, 170), (170, 220), (120, 120), (170, 220), (220, 170)]
    images = [picture(*size, seed=i) for i, size in enumerate(sizes)]
    together = encoder.encode_images(refs(6), images)
    largest = 0.0
    for ref, image, embedding in zip(refs(6), images, together, strict=True):
        alone = encoder.encode_images([ref], [image])[0]
        assert embedding.ref == ref
        assert (embedding.boxes == alone.boxes).all()
        largest = max(largest, float(np.abs(embedding.vectors - alone.vectors).max()))
    assert largest < 1e-5  # 0 as measured on the CPU, where no page is ever padded


def test_no_batch_holds_padding() -> None:
    encoder = encoder_of("qwen2_5_vl")
    seen: list[bool] = []

    class Watched(Strict):
        def __call__(self, **batch: Any) -> Any:
            seen.append(bool(batch["attention_mask"].all()))
            return super().__call__(**batch)

    watched = Watched(encoder.loaded.model, 99, MemoryError())
    sizes = [(170, 220), (220, 120), (170, 220), (90, 220)]
    with_model(encoder, watched, batch_size=8).encode_images(refs(4), [picture(*s, seed=1) for s in sizes])
    assert seen == [True, True, True]
    assert watched.batches == [2, 1, 1]


@pytest.mark.parametrize("family", QWEN)
def test_a_gpu_gives_nearly_what_the_cpu_gives(family: str) -> None:
    import torch

    if not torch.cuda.is_available():
        pytest.skip("there is no GPU here")
    images = [picture(170, 220, seed=i) for i in range(5)]
    on_cpu = encoder_of(family).encode_images(refs(5), images)
    encoder = load_colqwen(str(merged(family)), device="cuda", settings=SMALL)
    assert encoder.revision == encoder_of(family).revision
    for i, (there, here) in enumerate(zip(encoder.encode_images(refs(5), images), on_cpu, strict=True)):
        assert (there.vectors * here.vectors).sum(axis=1).min() > 0.99
        alone = encoder.encode_images(refs(1), [images[i]])[0]
        assert (there.vectors * alone.vectors).sum(axis=1).min() > 0.999


@pytest.mark.parametrize(
    "limit, grid", [(256, (14, 18)), (512, (19, 25)), (768, (24, 31)), (1024, (28, 36)), (2048, (39, 51))]
)
def test_the_number_of_visual_tokens_is_kept_on_a_letter_page(limit: int, grid: tuple[int, int]) -> None:
    encoder = encoder_of("qwen2_5_vl", max_num_visual_tokens=limit)
    found = encoder._grid(Image.new("RGB", (1224, 1584)))
    assert (found.columns, found.rows) == grid
    assert found.columns * found.rows <= limit


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("[enforce fail] not enough memory: you tried"), "cuda"]
)
def test_the_batch_halves_when_memory_runs_out_and_stays_so(
    error: Any, caplog: pytest.LogCaptureFixture
) -> None:
    import torch

    error = torch.OutOfMemoryError("CUDA out of memory. Tried") if error == "cuda" else error
    encoder = encoder_of("qwen2_vl")
    images = [picture(170, 220, seed=i) for i in range(5)]
    model = Strict(encoder.loaded.model, 1, error)
    small = with_model(encoder, model, batch_size=4)
    found = small.encode_images(refs(5), images)
    assert model.batches == [4, 2, 1, 1, 1, 1, 1]
    assert small.batch_size == 1
    assert caplog.text.count("out of memory on cpu: going on with") == 2
    for embedding, expected in zip(found, encoder.encode_images(refs(5), images), strict=True):
        assert np.abs(embedding.vectors - expected.vectors).max() < 1e-5
    small.encode_images(refs(2), images[:2])
    assert model.batches[7:] == [1, 1]


def test_one_page_that_does_not_fit_is_told_and_other_errors_are_raised_as_they_are() -> None:
    encoder = encoder_of("qwen2_vl")
    images = [picture(170, 220, seed=0)] * 2
    for error in (MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried")):
        small = with_model(encoder, Strict(encoder.loaded.model, 0, error), batch_size=2)
        with pytest.raises(InputError, match="page 1 of doc: one page does not fit .* max_num_visual_tokens"):
            small.encode_images(refs(2), images)
    broken = with_model(encoder, Strict(encoder.loaded.model, 0, RuntimeError("shapes differ")))
    with pytest.raises(RuntimeError, match="shapes differ"):
        broken.encode_images(refs(2), images)
    assert not is_out_of_memory(RuntimeError("shapes differ"))


@pytest.mark.parametrize(
    "weight, value", [("custom_text_proj.", 0), ("norm.weight", np.nan), ("norm.weight", 0)]
)
def test_a_page_that_embeds_to_nothing_is_refused(weight: str, value: float, tmp_path: Path) -> None:
    def spoil(tensors: dict[str, Any]) -> None:
        for key in tensors:
            if weight in key and "visual" not in key or key == "custom_text_proj.bias":
                tensors[key][:] = value

    folder = edit_tensors(copy_of(merged("qwen2_vl"), tmp_path / "x"), spoil)
    if np.isnan(value):  # the projection is looked at when it is loaded
        with pytest.raises(InputError, match="custom_text_proj.bias holds values that are not numbers"):
            load_model(str(folder), device="cpu")
        edit_tensors(folder, lambda tensors: tensors["custom_text_proj.bias"].zero_())
    encoder = load_colqwen(str(folder), device="cpu", settings=SMALL)
    with pytest.raises(InputError, match="page 2 of doc: 48 of 48 vectors .* zero or not numbers"):
        encoder.encode_images(refs(2)[1:], [picture(170, 220, seed=0)])
    with pytest.raises(InputError, match="the query 'revenue': .* zero or not numbers"):
        encoder.encode_query("revenue")


def test_queries_give_a_vector_a_token_and_none_when_there_is_nothing_to_ask() -> None:
    import torch

    encoder = encoder_of("qwen2_5_vl")
    embedding = encoder.encode_query("revenue of the company")
    loaded = encoder.loaded
    batch = loaded.processor.process_queries(["revenue of the company"])
    with torch.no_grad():
        expected = loaded.model(**batch)[0].numpy()
    assert np.abs(embedding.vectors - expected).max() < 1e-6
    assert np.linalg.norm(embedding.pooled) == pytest.approx(1, abs=1e-5)
    for text in ("", "  \n", "<|image_pad|> <|endoftext|>"):
        nothing = encoder.encode_query(text)
        assert nothing.vectors.shape == (0, 128) and not nothing.pooled.any()


def test_control_tokens_in_a_question_are_only_text_and_long_ones_are_cut() -> None:
    encoder = encoder_of("qwen2_5_vl")
    plain = encoder.encode_query("revenue   growth")
    tricky = encoder.encode_query("revenue <|image_pad|> growth")
    assert (plain.vectors == tricky.vectors).all()
    assert len(encoder.encode_query("revenue " * 5000).vectors) < 4100


def test_no_page_gives_no_embedding_and_lists_of_other_lengths_are_refused() -> None:
    encoder = encoder_of("qwen2_vl")
    assert encoder.encode_images([], []) == []
    with pytest.raises(ValueError, match="1 pages, 2 images"):
        encoder.encode_images(refs(1), [picture(40, 40, 0)] * 2)


@pytest.mark.parametrize("family", ["qwen2_5_vl", "qwen3_vl", "idefics3", "paligemma"])
@pytest.mark.parametrize("size", [(1, 1), (30, 30), (900, 12), (12, 900), (1, 3000), (3000, 2)])
def test_pages_of_any_shape_can_be_embedded(family: str, size: tuple[int, int]) -> None:
    encoder = encoder_of(family)
    embedding = encoder.encode_images(refs(1), [Image.new("L", size, 255)])[0]
    assert 0 < len(embedding.vectors) == len(embedding.boxes)


def test_the_revision_follows_what_is_shown_to_the_model_and_not_the_batch() -> None:
    first = encoder_of("qwen2_vl")
    assert isinstance(first, ImageEncoder)
    assert first.revision == with_model(first, first.loaded.model, batch_size=1).revision
    for settings in ({"max_num_visual_tokens": 128}, {"dpi": 100}):
        assert encoder_of("qwen2_vl", **settings).revision != first.revision
    assert encoder_of("qwen2_5_vl").revision != first.revision


@pytest.mark.parametrize(
    "settings", [{"max_num_visual_tokens": 8}, {"batch_size": 0}, {"dpi": 10}, {"dpi": 1e4}]
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="expected"):
        ColQwenSettings(**settings)


def test_a_model_with_a_fixed_number_of_visual_tokens_refuses_another() -> None:
    with pytest.raises(InputError, match="ColPali has a fixed number"):
        load_colqwen(str(other("paligemma")), device="cpu", settings=SMALL)


def test_boxes_divide_the_page_row_by_row_and_tile_by_tile() -> None:
    assert grid_boxes(2, 1).tolist() == [[0, 0, 0.5, 1], [0.5, 0, 1, 1]]
    boxes = tile_boxes(2, 1, 2)
    assert len(boxes) == 2 * 4 + 4
    assert boxes[1].tolist() == [0.25, 0, 0.5, 0.5]
    assert boxes[4].tolist() == [0.5, 0, 0.75, 0.5]
    assert boxes[8].tolist() == [0, 0, 0.5, 0.5]
    assert tile_boxes(0, 0, 2).tolist() == grid_boxes(2, 2).tolist()
