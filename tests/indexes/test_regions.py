"""Where on a page a query matched: lines of words, components of patches, snapped to layout blocks."""

import numpy as np
import pytest

from indexes.encoders.colqwen_models import tile_boxes
from indexes.regions import PageMatch, components, line_starts
from indexes.types import BBox

ROWS, COLUMNS = 20, 12


def patches(hot, rows=ROWS, columns=COLUMNS, queries=3, cold=0.1, seed=0) -> PageMatch:
    """A page of patches; `hot` maps cells to the similarity that all query vectors have there."""
    rng = np.random.default_rng(seed)
    similarities = (cold + rng.uniform(-0.02, 0.02, (rows * columns, queries))).astype(np.float32)
    for (row, column), value in hot.items():
        similarities[row * columns + column] = value
    k = np.arange(rows * columns)
    x, y = k % columns, k // columns
    boxes = np.stack([x / columns, y / rows, (x + 1) / columns, (y + 1) / rows], axis=1)
    # as an index keeps them: in 16 bits
    return PageMatch(similarities, (np.round(boxes * 65535) / 65535).astype(np.float32))


def area(cells) -> BBox:
    """The box around cells of the grid."""
    rows, columns = [r for r, _ in cells], [c for _, c in cells]
    return BBox(
        min(columns) / COLUMNS, min(rows) / ROWS, (max(columns) + 1) / COLUMNS, (max(rows) + 1) / ROWS
    )


def test_hot_patches_that_touch_are_a_region_and_others_are_their_own() -> None:
    one = {(r, c): 0.9 for r in (3, 4) for c in (2, 3, 4)}
    two = {(15, 9): 0.7, (16, 10): 0.7}  # they touch at a corner
    first, second = patches(one | two).regions(5)
    assert first.bbox.as_list() == pytest.approx(area(one).as_list())
    assert second.bbox.as_list() == pytest.approx(area(two).as_list())
    assert (first.score, second.score) == pytest.approx((0.9, 0.7))
    assert [region.bbox for region in patches(one | two).regions(1)] == [first.bbox]


def test_a_region_beside_another_in_the_same_rows_does_not_take_the_row() -> None:
    left, right = {(5, 1): 0.9, (6, 1): 0.9}, {(5, 10): 0.8}
    found = patches(left | right).regions(3)
    assert [region.bbox.x2 - region.bbox.x1 for region in found] == pytest.approx([1 / COLUMNS] * 2)


def test_the_score_is_what_maxsim_over_the_region_gives() -> None:
    match = patches({(2, 2): [0.9, 0.1, 0.5], (2, 3): [0.2, 0.8, 0.5]})
    (region,) = match.regions(1)
    assert region.score == pytest.approx((0.9 + 0.8 + 0.5) / 3)
    assert match.score(region.bbox) == pytest.approx(region.score)
    whole = float(match.similarities.max(axis=0).mean())
    assert match.score(BBox(0, 0, 1, 1)) == pytest.approx(whole)
    tiny = match.score(BBox(2.4 / COLUMNS, 2.4 / ROWS, 2.45 / COLUMNS, 2.45 / ROWS))
    assert tiny == pytest.approx((0.9 + 0.1 + 0.5) / 3)
    assert PageMatch(match.similarities[:5], match.boxes[:5]).score(BBox(0.5, 0.8, 0.6, 0.9)) is None


def test_a_region_is_snapped_to_the_block_it_fills_or_to_a_strip_of_a_large_one() -> None:
    block = BBox(0.15, 0.14, 0.43, 0.26)  # rows 3 and 4, columns 2 to 4 of the grid
    hot = {(r, c): 0.9 for r in (3, 4) for c in (2, 3, 4)}
    (region,) = patches(hot).regions(3, [block, BBox(0, 0.8, 1, 0.9)])
    assert region.bbox == block
    table = BBox(0.05, 0.1, 0.95, 0.9)
    (row,) = patches({(8, c): 0.9 for c in range(1, 11)}).regions(3, [table])
    assert row.bbox.as_list() == pytest.approx([0.05, 8 / ROWS, 0.95, 9 / ROWS])
    (cell,) = patches({(8, 9): 0.9}).regions(3, [table])
    assert cell.bbox.x2 - cell.bbox.x1 == pytest.approx(1 / COLUMNS)


def test_a_region_over_two_blocks_is_one_region_on_each() -> None:
    hot = {(r, c): 0.9 for r in range(4, 8) for c in (3, 4)}
    upper, lower = BBox(0.2, 0.2, 0.45, 0.3), BBox(0.2, 0.3, 0.45, 0.4)
    assert {region.bbox for region in patches(hot).regions(3, [upper, lower])} == {upper, lower}


def test_a_block_thinner_than_a_patch_is_snapped_to() -> None:
    line = BBox(0.1, 0.252, 0.9, 0.256)  # within row 5
    (region,) = patches({(5, c): 0.9 for c in range(1, 11)}).regions(3, [line])
    assert region.bbox == line


def test_a_page_without_a_hot_place_gives_small_regions_and_an_even_one_none_of_it() -> None:
    noise = patches({}).regions(3)
    assert len(noise) == 3 and all(region.bbox.area < 0.3 for region in noise)
    even = PageMatch(np.ones((ROWS * COLUMNS, 2), np.float32), patches({}).boxes)
    assert (even.heat() == 0).all() and even.regions(3) == []


def test_nothing_to_compare_is_no_region() -> None:
    for match in (
        PageMatch(np.zeros((0, 2), np.float32), np.zeros((0, 4), np.float32)),
        PageMatch(np.zeros((ROWS * COLUMNS, 0), np.float32), patches({}).boxes),
    ):
        assert match.regions(3) == [] and len(match) == 0 and match.score(BBox(0, 0, 1, 1)) is None


def test_patches_are_told_from_words_and_merged_patches_are_patches() -> None:
    match = patches({(3, 3): 0.9})
    assert match.grid() == (ROWS, COLUMNS)
    for rows, columns in ((1, 1), (51, 39), (39, 51), (14, 18)):
        assert patches({}, rows, columns).grid() == (rows, columns)
    kept = np.sort(np.random.default_rng(0).choice(ROWS * COLUMNS, 80, replace=False))
    pooled = PageMatch(match.similarities[kept], match.boxes[kept])
    assert pooled.grid() == (ROWS, COLUMNS)
    assert (pooled.cells((ROWS, COLUMNS)) == np.stack([kept // COLUMNS, kept % COLUMNS], axis=1)).all()
    words = np.array([[0.1, 0.1, 0.18, 0.12], [0.2, 0.1, 0.25, 0.12], [0.1, 0.2, 0.3, 0.22]], np.float32)
    assert PageMatch(np.ones((3, 1), np.float32), words).grid() is None


@pytest.mark.parametrize(("columns", "rows"), [(3, 4), (1, 1), (2, 1)])
def test_a_page_cut_into_tiles_is_the_grid_of_its_finest_patches(columns, rows) -> None:
    boxes = np.round(tile_boxes(columns, rows, 8) * 65535).astype(np.float32) / 65535
    similarities = np.full((len(boxes), 1), 0.1, np.float32)
    fine = 64 * columns * rows
    similarities[fine - 1] = 0.9  # the last patch of the last tile: the lower right corner
    similarities[fine] = 0.8  # of the whole page, its upper left
    match = PageMatch(similarities, boxes)
    assert match.grid() == (8 * rows, 8 * columns)
    best = match.regions(3)[0]
    assert best.bbox.as_list() == pytest.approx([1 - 1 / (8 * columns), 1 - 1 / (8 * rows), 1, 1], abs=1e-4)


def test_heat_is_normalized_for_the_page() -> None:
    heat = patches({(3, 3): 0.9, (4, 4): -0.5}).heat()
    assert heat.min() == 0 and heat.max() == 1
    assert heat.argmax() == 3 * COLUMNS + 3 and heat.argmin() == 4 * COLUMNS + 4


def test_components_are_those_of_a_flood_fill() -> None:
    rng = np.random.default_rng(4)
    for _ in range(50):
        hot = rng.random((9, 7)) < 0.35
        parts = components(hot)
        assert (sum(part.astype(int) for part in parts) == hot).all() if parts else not hot.any()
        label = {tuple(cell): i for i, part in enumerate(parts) for cell in np.argwhere(part).tolist()}
        for (y, x), i in label.items():
            for dy in (-1, 0, 1):
                for dx in (-1, 0, 1):
                    assert label.get((y + dy, x + dx), i) == i


def test_regions_of_words_are_lines_grown_by_neighbours_that_add_to_the_match() -> None:
    boxes = np.array([[x / 4, y / 10, (x + 0.9) / 4, (y + 0.8) / 10] for y in range(10) for x in range(4)])
    boxes[::4, 2] -= 0.05  # words differ in width
    similarities = np.full((40, 2), 0.1, np.float32)
    similarities[4 * 3 + 1, 0] = similarities[4 * 4 + 2, 1] = 0.9  # lines 3 and 4 answer one vector each
    similarities[4 * 8] = 0.3
    first, second = PageMatch(similarities, boxes.astype(np.float32)).regions(2)
    assert first.bbox.as_list() == pytest.approx([0, 0.3, 0.975, 0.48])
    assert second.bbox.as_list() == pytest.approx([0, 0.8, 0.975, 0.88])
    assert (first.score, second.score) == pytest.approx((0.9, 0.3))


def test_lines_begin_where_boxes_step_down_or_back() -> None:
    boxes = [[0, 0, 0.1, 0.1], [0.2, 0.01, 0.3, 0.09], [0, 0.1, 0.1, 0.2], [0.5, 0, 0.6, 0.1]]
    assert line_starts(np.array(boxes, np.float32)).tolist() == [0, 2, 3]


@pytest.mark.parametrize("family", ["qwen2_5_vl", "qwen3_vl"])
def test_a_page_of_an_image_encoder_is_searched_mapped_and_drawn(family, tmp_path) -> None:
    import pymupdf
    import torch
    from colqwen_checkpoints import merged
    from PIL import Image

    from indexes.document import Document
    from indexes.encoders.colqwen import ColQwenSettings, load_colqwen
    from retrieval.heatmap import write_heatmap
    from retrieval.hybrid import open_retriever

    torch.set_num_threads(1)
    path = tmp_path / "small.pdf"
    with pymupdf.open() as pdf:
        for number in range(1, 4):
            page = pdf.new_page(width=400, height=520)
            page.insert_text((40, 60), f"Chapter {number}: revenue of quarter {number}", fontsize=14)
            page.draw_rect((60, 80 * number, 340, 80 * number + 60), fill=(number / 7, 0.2, 0.5))
        pdf.save(path)
    settings = ColQwenSettings(max_num_visual_tokens=64, dpi=50, batch_size=4)
    encoder = load_colqwen(str(merged(family)), device="cpu", settings=settings)
    with Document.open(path, ocr=False) as document:
        retriever = open_retriever(document, encoder=encoder)
        best = retriever.retrieve("revenue of the second quarter", 3)[0]
        match = retriever.match("revenue of the second quarter", best.ref)
        assert match.grid() is not None and len(match) == np.prod(match.grid())
        assert 1 <= len(best.regions) == len(best.region_scores) <= 3
        for box, score in best.scored:
            assert score is not None and score == match.score(box)
        write_heatmap(document, best, match, tmp_path / "map.png")
        with Image.open(tmp_path / "map.png") as picture:
            assert picture.size == document.render(best.ref.page, 144).size
