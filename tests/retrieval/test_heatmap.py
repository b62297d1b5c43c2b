"""The picture of what a query matched on a page."""

import numpy as np
import pytest
from PIL import Image

from indexes.document import Document
from indexes.errors import InputError
from indexes.regions import PageMatch
from indexes.types import BBox
from retrieval.heatmap import BLUE, draw_heatmap, heat_image, write_heatmap
from retrieval.hybrid import open_retriever
from retrieval.search import main

ROWS, COLUMNS = 10, 8


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    import torch

    torch.set_num_threads(1)


def patch_page(values) -> PageMatch:
    """A page of patches with these similarities `(ROWS, COLUMNS)`."""
    k = np.arange(ROWS * COLUMNS)
    x, y = k % COLUMNS, k // COLUMNS
    boxes = np.stack([x / COLUMNS, y / ROWS, (x + 1) / COLUMNS, (y + 1) / ROWS], axis=1)
    return PageMatch(np.asarray(values, np.float32).reshape(-1, 1), boxes.astype(np.float32))


def test_each_patch_is_filled_with_its_heat() -> None:
    values = np.random.default_rng(0).random((ROWS, COLUMNS))
    image = heat_image(patch_page(values), (160, 200))
    heat = (values - values.min()) / (values.max() - values.min())
    assert image.shape == (200, 160)
    assert np.abs(image - heat.repeat(20, axis=0).repeat(20, axis=1)).max() < 1e-5


def test_words_are_filled_and_the_rest_is_cold() -> None:
    boxes = np.array([[0.1, 0.1, 0.3, 0.2], [0.5, 0.5, 0.8, 0.6], [0.1, 0.8, 0.15, 0.9]], np.float32)
    match = PageMatch(np.array([[0.2], [0.9], [0.55]], np.float32), boxes)
    image = heat_image(match, (100, 100))
    assert image[55, 60] == 1 and image[15, 20] == 0 and image[85, 12] == pytest.approx(0.5)
    assert image[30, 30] == 0 and image[95, 95] == 0


def test_merged_patches_take_the_heat_of_the_nearest() -> None:
    full = patch_page(np.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS))
    kept = [0, 7, 72, 79]
    image = heat_image(PageMatch(full.similarities[kept], full.boxes[kept]), (80, 100))
    assert image[99, 79] == 1 and image[95, 60] == 1 and image[0, 0] == 0
    assert len(np.unique(image)) == 4


def test_hot_patches_are_painted_red_cold_ones_are_left_and_regions_are_outlined() -> None:
    values = np.zeros((ROWS, COLUMNS))
    values[4, 3] = values[4, 4] = 1
    match = patch_page(values)
    (region,) = match.regions(3)
    white = Image.new("RGB", (320, 400), "white")
    picture = draw_heatmap(white, match, [(region.bbox, region.score)])
    assert picture.size == white.size and white.getpixel((140, 180)) == (255, 255, 255)
    red, green, blue = picture.getpixel((140, 180))
    assert red > green + 50 and red > blue + 50
    assert picture.getpixel((20, 380)) == (255, 255, 255)
    assert picture.getpixel((round(region.bbox.x2 * 320) + 1, 180)) == BLUE


def test_regions_at_the_edges_and_a_page_without_vectors_are_drawn() -> None:
    nothing = PageMatch(np.zeros((0, 3), np.float32), np.zeros((0, 4), np.float32))
    picture = draw_heatmap(
        Image.new("RGB", (60, 80), "white"),
        nothing,
        [(BBox(0, 0, 1, 1), None), (BBox(0.99, 0.99, 1, 1), 0.5)],
    )
    assert picture.size == (60, 80)


def test_the_command_draws_the_best_page(capsys, sample_pdf, tmp_path) -> None:
    target = tmp_path / "map.png"
    query = "What was the operating profit in 2024?"
    assert main([str(sample_pdf), query, "--heatmap", str(target), "-k", "2"]) == 0
    out = capsys.readouterr()
    assert "page 10)" in out.err and str(target) in out.err
    with Document.open(sample_pdf, quiet=True) as document:
        plain = np.asarray(document.render(10, 144)).astype(int)
        (best, _) = open_retriever(document).retrieve(query, 2)
    drawn = np.asarray(Image.open(target).convert("RGB")).astype(int)
    assert drawn.shape == plain.shape
    changed = np.abs(drawn - plain).max(axis=2) > 30
    assert 0.001 < changed.mean() < 0.5
    assert len(best.region_scores) == len(best.regions) > 0
    for box, score in best.scored:
        assert score is not None and -1 <= score <= 1
        middle = round((box.x1 + box.x2) / 2 * drawn.shape[1]), round(box.y2 * drawn.shape[0]) + 1
        assert tuple(drawn[middle[1], middle[0]]) == BLUE
    assert sorted(path.name for path in tmp_path.iterdir()) == ["map.png"]


@pytest.mark.parametrize("name", ["map.jpg", "map.webp", "map.PNG"])
def test_the_ending_says_the_format(sample_pdf, tmp_path, name) -> None:
    assert main([str(sample_pdf), "offices", "--heatmap", str(tmp_path / name), "--quiet", "--json"]) == 0
    with Image.open(tmp_path / name) as picture:
        assert picture.format == {"jpg": "JPEG", "webp": "WEBP", "png": "PNG"}[name[4:].lower()]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("map.txt", "ending in .png"),
        ("map", "ending in .png"),
        ("none/map.png", "there is no folder"),
        ("folder.png", "is a folder"),
    ],
)
def test_a_picture_that_cannot_be_written_is_refused_before_the_search(sample_pdf, tmp_path, name, said):
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(InputError, match=said):
        main([str(tmp_path / "no.pdf"), "a query", "--heatmap", str(tmp_path / name)])


def test_several_queries_have_no_one_map(sample_pdf, tmp_path) -> None:
    with pytest.raises(InputError, match="one query, and there are 2"):
        main([str(sample_pdf), "a", "b", "--heatmap", str(tmp_path / "map.png")])


def test_a_page_that_cannot_be_rendered_leaves_the_old_picture(sample_pdf, tmp_path, monkeypatch) -> None:
    target = tmp_path / "map.png"
    target.write_bytes(b"old")

    def broken(*_):
        raise ValueError("page 1 of x.pdf: cannot be rendered")

    with Document.open(sample_pdf, quiet=True) as document:
        retriever = open_retriever(document)
        (best,) = retriever.retrieve("operating profit", 1)
        monkeypatch.setattr(document, "render", broken)
        with pytest.raises(InputError, match="cannot be rendered"):
            write_heatmap(document, best, retriever.match("operating profit", best.ref), target)
    assert target.read_bytes() == b"old"
