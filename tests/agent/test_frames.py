"""Boxes that models say, in their own frames, become boxes of the page."""

import math

import pytest

from agent.frames import FRAMES, to_bbox
from indexes.types import BBox

SIZE = (840, 1092)
WHERE = BBox(0.1, 0.2, 0.4, 0.25)


@pytest.mark.parametrize(
    ("frame", "values"),
    [
        ("qwen2.5-vl", [84, 218.4, 336, 273]),
        ("pixels", [84, 218.4, 336, 273]),
        ("thousand", [100, 200, 400, 250]),
        ("thousand-yx", [200, 100, 250, 400]),
        ("normalized", [0.1, 0.2, 0.4, 0.25]),
    ],
)
def test_a_box_is_the_same_place_in_every_frame(frame, values) -> None:
    box = to_bbox(values, frame, SIZE)
    assert box is not None and box.as_list() == pytest.approx(WHERE.as_list())
    x1, y1, x2, y2 = values
    for swapped in ([x2, y2, x1, y1], [x1, y2, x2, y1], (x2, y1, x1, y2)):
        again = to_bbox(swapped, frame, SIZE)
        assert again is not None and again.as_list() == pytest.approx(WHERE.as_list())


def test_a_box_that_leaves_the_page_is_clipped() -> None:
    assert to_bbox([-50, 900, 500, 1200], "thousand", SIZE) == BBox(0, 0.9, 0.5, 1)
    assert to_bbox([0, 0, 9e300, 9e300], "pixels", SIZE) == BBox(0, 0, 1, 1)


@pytest.mark.parametrize("values", [[1100, 0, 1200, 50], [0, -90, 50, -1], [10, 10, 10, 20], [0, 0, 0, 0]])
def test_a_box_with_nothing_on_the_page_is_none(values) -> None:
    assert to_bbox(values, "thousand", SIZE) is None


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([1, 2, 3], "expected four numbers, got 3"),
        ([1, 2, 3, 4, 5], "got 5"),
        ([], "got 0"),
        ([1, 2, math.nan, 4], "not finite"),
        ([1, 2, math.inf, 4], "not finite"),
        ([1, 2, 10**400, 4], "not finite"),
        ([1, 2, None, 4], "None is no number"),
        ([1, 2, "3", 4], "'3' is no number"),
        ([True, 2, 3, 4], "True is no number"),
        ("1234", "a list of four numbers"),
        (7, "a list of four numbers"),
        ({"x": 1}, "a list of four numbers"),
    ],
)
def test_what_is_no_box_is_said(values, said) -> None:
    with pytest.raises(ValueError, match=said):
        to_bbox(values, "thousand", SIZE)


def test_an_unknown_frame_and_an_image_without_a_size_are_said() -> None:
    with pytest.raises(ValueError, match=r"box frame 'qwen9': expected one of qwen2\.5-vl"):
        to_bbox([1, 2, 3, 4], "qwen9", SIZE)
    for size in ((0, 10), (10, -1), (math.inf, 5)):
        with pytest.raises(ValueError, match="expected a width and a height above 0"):
            to_bbox([1, 2, 3, 4], "qwen2.5-vl", size)
        assert to_bbox([1, 2, 3, 4], "thousand", size) is not None
    assert len(FRAMES) == 5
