"""Grounding: pointers and quotes become tight regions, and the page's words say how they are borne out."""

import numpy as np
import pytest
from agent_fakes import DOC, PAGES, make_page

from agent.grounding import Dropped, Grounded, ground
from agent.matching import PageText, same_words, token, tokens
from agent.places import word_regions
from agent.types import FactDraft
from indexes.types import BBox, LayoutBlock, Page, PageRef, Words


def draft(page, text="", quote="", **where) -> FactDraft:
    return FactDraft(page.ref, text or quote, quote, 0.5, **where)


def grounded(page, *args, **kwargs) -> Grounded:
    result = ground(draft(page, *args, **kwargs), PageText(page))
    assert isinstance(result, Grounded), result
    return result


def dropped(page, *args, **kwargs) -> str:
    result = ground(draft(page, *args, **kwargs), PageText(page))
    assert isinstance(result, Dropped), result
    return result.reason


def contains(box: BBox, page: Page, *words: str) -> None:
    """Every named word lies in the box, and no other word has its middle there."""
    inside = {
        word.text
        for word in page.words
        if box.x1 <= (word.bbox.x1 + word.bbox.x2) / 2 <= box.x2
        and box.y1 <= (word.bbox.y1 + word.bbox.y2) / 2 <= box.y2
    }
    assert inside == set(words)


LONG = make_page(
    7,
    [
        "Alpha beta gamma delta\nepsilon zeta eta theta\niota kappa lambda mu",
        "The ef\ufb01cient of\ufb01ce re-\nported “net” rev\u00adenue of 1,577.50",
        (
            "table",
            "Item | 2023 | 2022\nNet sales | 1,577 | 1,212\nOther income | 12 | 15\nTotal | 1,589 | 1,227",
        ),
    ],
)


def test_a_quote_on_one_line_is_a_tight_box() -> None:
    found = grounded(LONG, quote="beta gamma")
    (region,) = found.regions
    contains(region.bbox, LONG, "beta", "gamma")
    assert found.support == "exact"


def test_a_quote_over_lines_of_a_block_is_one_region() -> None:
    found = grounded(LONG, quote="delta epsilon zeta")
    (region,) = found.regions
    assert region.bbox.area < 0.5


def test_a_quote_over_blocks_is_one_region_only_where_nothing_else_stands_in_it() -> None:
    through = "iota kappa lambda mu The ef\ufb01cient of\ufb01ce re-"
    assert len(grounded(LONG, quote=through).regions) == 1
    assert len(grounded(LONG, quote="mu The efficient").regions) == 2


def test_a_cell_is_grounded_as_its_whole_row_with_the_label() -> None:
    start = LONG.words.texts.index("1,212")
    found = grounded(LONG, "Net sales, 2022: 1,212", words=((start, start + 1),))
    (region,) = found.regions
    contains(region.bbox, LONG, "Net", "sales", "1,577", "1,212")


def test_header_words_beside_a_quoted_row_are_no_region_of_their_own() -> None:
    header, row = LONG.words.texts.index("2022"), LONG.words.texts.index("Net")
    found = grounded(
        LONG, "Net sales, 2022: 1,212", "Net sales 1,577 1,212", words=((row, row + 4), (header, header + 1))
    )
    (region,) = found.regions
    contains(region.bbox, LONG, "Net", "sales", "1,577", "1,212")
    assert found.support == "exact"


def test_rows_that_stand_apart_are_apart() -> None:
    words = LONG.words.texts
    first, last = words.index("Net"), words.index("Total")
    found = grounded(LONG, "a and b", words=((first, first + 1), (last, last + 1)))
    assert len(found.regions) == 2


@pytest.mark.parametrize(
    "quote",
    [
        "THE EFFICIENT OFFICE",
        "efficient of\ufb01ce reported",
        '"net" revenue of 1577.50',
        "re-ported 'net' revenue",
    ],
)
def test_forms_of_writing_do_not_hide_a_quote(quote: str) -> None:
    assert grounded(LONG, quote=quote).support == "exact"


@pytest.mark.parametrize("quote", ["revenue of 1,577", "revenue of 577.50", "revenue of 1577.5"])
def test_numbers_of_a_quote_must_stand_exactly(quote: str) -> None:
    assert "not on the page" in dropped(LONG, quote=quote)


def test_a_number_is_not_found_inside_another() -> None:
    page = make_page(1, ["In 2012 there were 120 sites"])
    assert PageText(page).find("12") is None and PageText(page).find("20 sites") is None
    assert PageText(page).find("120 sites") is not None


def test_a_quote_with_a_slip_of_recognition_is_approximate() -> None:
    page = make_page(1, ["The total revenuc of the company was 523 million"])
    found = grounded(page, quote="The total revenue of the company was 523 million")
    assert found.support == "approximate" and len(found.regions) == 1


def test_words_of_a_row_quoted_without_what_lies_between_are_found() -> None:
    page = make_page(1, [("table", "Net sales | $ | 34,229 | $ | 35,355\nCosts | $ | 1 | $ | 2")])
    found = grounded(page, quote="Net sales 34,229 35,355")
    assert found.support == "exact"


def test_an_ellipsis_joins_two_places() -> None:
    found = PageText(LONG).find("Alpha beta … kappa lambda")
    assert found is not None and len(found.ranges) == 2
    assert PageText(LONG).find("Alpha beta ... never said") is None


def test_a_hint_chooses_between_two_places_of_a_quote() -> None:
    page = make_page(1, ["same words here", "other", "same words here"])
    assert PageText(page).find("same words").ranges == ((0, 2),)
    assert PageText(page).find("same words", {4, 5}).ranges == ((4, 6),)


def test_a_block_is_narrowed_to_its_quote_and_kept_whole_without_one() -> None:
    (narrow,) = grounded(LONG, quote="zeta eta", blocks=(0,)).regions
    contains(narrow.bbox, LONG, "zeta", "eta")
    (whole,) = grounded(LONG, "greek letters", blocks=(0,)).regions
    assert whole.bbox.area > narrow.bbox.area


def test_a_quote_elsewhere_beats_a_wrong_block() -> None:
    (region,) = grounded(LONG, quote="zeta eta", blocks=(1,)).regions
    contains(region.bbox, LONG, "zeta", "eta")


def test_blocks_that_do_not_exist_are_noted_and_the_rest_is_kept() -> None:
    found = grounded(LONG, "greek", blocks=(0, 55))
    assert found.notes == ("block 55: the page has no such block",)
    assert "block 55" in dropped(LONG, "greek", blocks=(55,))


def test_word_ranges_beyond_the_page_are_cut_and_noted() -> None:
    found = grounded(LONG, "greek", words=((0, 2), (900, 950)))
    assert "words 900 to 950" in found.notes[0]


def test_a_box_is_snapped_to_the_words_it_covers() -> None:
    word = LONG.words[5].bbox
    loose = BBox(word.x1 - 0.004, word.y1 - 0.004, word.x2 + 0.004, word.y2 + 0.004)
    (region,) = grounded(LONG, "zeta", bbox=loose).regions
    contains(region.bbox, LONG, "zeta")
    assert region.bbox.area <= word.area * 1.2


def test_a_box_over_a_picture_is_the_picture_and_visual() -> None:
    page = PAGES[4]
    found = grounded(page, "The bar for Norway is the tallest", bbox=BBox(0.25, 0.05, 0.7, 0.2))
    assert found.support == "visual" and found.regions[0].bbox.area == pytest.approx(0.6 * 0.15, abs=1e-3)
    assert grounded(page, "A map", blocks=(0,)).support == "visual"


def test_a_box_over_the_whole_page_is_refused_unless_a_block_fills_it() -> None:
    assert "whole page" in dropped(LONG, "everything", bbox=BBox(0, 0, 1, 1))
    empty = Words([], np.zeros((0, 4), np.float32), np.zeros(0, np.int32))
    scan = Page(PageRef(DOC, 1), None, (612, 792), empty, (LayoutBlock("picture", BBox(0, 0, 1, 1), "", 0),))
    assert grounded(scan, "A photo fills the page", bbox=BBox(0, 0, 1, 1)).regions[0].bbox.area == 1


def test_support_says_how_the_page_bears_a_statement_out() -> None:
    page = PAGES[1]
    quote = "Revenue was $5.2 billion in 2023, up from $4.6 billion in 2022."
    assert grounded(page, "Revenue was $5.2 billion in 2023", quote).support == "exact"
    assert grounded(page, "Revenue was 5,200 million in 2023", quote).support == "exact"
    assert grounded(page, "Revenue was 5.2 million in 2023", quote).support == "none"
    assert grounded(page, "Google's revenue: see Google, $5.2 billion", quote).support == "approximate"
    assert grounded(page, "Revenue was $9.9 billion in 2023", quote).support == "none"
    assert grounded(page, "Offices number many", "", blocks=(1,)).support == "none"


def test_what_a_reader_counted_is_borne_out_by_what_it_points_at() -> None:
    found = grounded(LONG, "Page 7 has 2 of them", "Alpha beta gamma delta", blocks=(0, 1))
    assert found.support == "approximate"
    assert grounded(LONG, "There are 31 of them", "Alpha beta gamma delta", blocks=(0, 1)).support == "none"


def test_cells_are_grounded_as_their_rows() -> None:
    (region,) = grounded(LONG, "Net sales in 2022", cells=((2, 1, 2),)).regions
    contains(region.bbox, LONG, "Net", "sales", "1,577", "1,212")
    two = grounded(LONG, "Net sales and the total", cells=((2, 1, 1), (2, 3, 1)))
    assert len(two.regions) == 2
    assert "no such cell" in dropped(LONG, "so it is", cells=((2, 9, 9),))
    assert "no such cell" in dropped(LONG, "so it is", cells=((77, 0, 0),))


def test_what_is_pointed_at_goes_by_its_order() -> None:
    far = LONG.words[0].bbox
    row = grounded(LONG, "Total", cells=((2, 3, 1),), bbox=far).regions
    contains(row[0].bbox, LONG, "Total", "1,589", "1,227")
    quote = grounded(LONG, "so", quote="Other income 12 15", cells=((2, 3, 1),), bbox=far).regions
    contains(quote[0].bbox, LONG, "Other", "income", "12", "15")
    block = grounded(LONG, "greek letters", blocks=(0,), bbox=LONG.words[-1].bbox).regions
    assert block[0].bbox.intersection(LONG.words[0].bbox) > 0


def test_a_block_is_narrowed_to_what_the_statement_says() -> None:
    (row,) = grounded(LONG, "Net sales: 1,577 and 1,212", blocks=(2,)).regions
    contains(row.bbox, LONG, "Net", "sales", "1,577", "1,212")


def test_all_blocks_together_are_no_region() -> None:
    spots = [(x / 10 + 0.005, y / 20 + 0.005) for y in range(20) for x in range(10)]
    boxes = np.array([[x, y, x + 0.09, y + 0.04] for x, y in spots], np.float32)
    texts = [f"word{i}" for i in range(200)]
    words = Words(texts, boxes, np.repeat(np.arange(20), 10).astype(np.int32))
    halves = tuple(
        LayoutBlock("text", BBox(0, i / 2, 1, (i + 1) / 2), "", i, 100 * i, 100 * i + 100) for i in range(2)
    )
    page = Page(PageRef(DOC, 1), None, (612, 792), words, halves)
    assert "whole page" in dropped(page, "all of it", blocks=(0, 1))
    assert grounded(page, "half of it", blocks=(1,)).regions[0].bbox.area < 0.5
    # Where the evidence is the whole page, so is the region.
    assert grounded(page, "all of it", quote=" ".join(texts)).regions[0].bbox.area > 0.9
    (narrow,) = grounded(page, "word31 word32 word33 word34", blocks=(0, 1)).regions
    assert narrow.bbox.area < 0.05


def test_without_pointers_or_quote_the_statement_is_looked_for() -> None:
    (region,) = grounded(LONG, "Other income was 12, before it 15").regions
    contains(region.bbox, LONG, "Other", "income", "12", "15")


def test_where_nothing_else_is_known_retrieval_says_where() -> None:
    word = LONG.words[LONG.words.texts.index("kappa")].bbox
    found = ground(draft(LONG, "a remark on poetry"), PageText(LONG), [word])
    assert isinstance(found, Grounded) and found.support == "none"
    contains(found.regions[0].bbox, LONG, "kappa")
    assert isinstance(ground(draft(LONG, "so", quote="never printed"), PageText(LONG), [word]), Dropped)
    empty = Words([], np.zeros((0, 4), np.float32), np.zeros(0, np.int32))
    scan = Page(PageRef(DOC, 1), None, (612, 792), empty)
    shown = ground(draft(scan, "A bar", quote="A bar"), PageText(scan), [BBox(0.1, 0.1, 0.4, 0.3)])
    assert isinstance(shown, Grounded) and shown.support == "visual"


def test_regions_hold_all_their_words_and_stay_on_the_page_for_random_pointers() -> None:
    rng = np.random.default_rng(0)
    total = len(LONG.words)
    for _ in range(300):
        words = sorted(rng.choice(total, size=int(rng.integers(1, 12)), replace=False).tolist())
        regions = word_regions(LONG, words)
        for i in words:
            box = LONG.words[i].bbox
            assert any(region.intersection(box) >= box.area * 0.999 for region in regions)
        assert sum(region.area for region in regions) < 0.9


def test_tokens_fold_forms_and_keep_decimal_points() -> None:
    assert token("(1,577.50)") == "1577.50"
    assert token("of\ufb01ce,") == token("OFFICE") == "office"
    assert token("—") == "" and tokens("a — b") == ["a", "b"]


def test_texts_with_other_numbers_are_never_the_same() -> None:
    assert same_words(tokens("net sales 12"), tokens("net sales 13")) == 0
    assert same_words(tokens("Net sales: 12"), tokens("net sales 12")) == 1
