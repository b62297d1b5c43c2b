"""Looking up what a query names, in documents made for it."""

from retrieval_fakes import make_page

from indexes.types import OutlineEntry
from retrieval.lookups import LookupTable
from retrieval.units import DocumentText


def table(pages, outline=()):
    return LookupTable(DocumentText(pages), outline, [page.label for page in pages])


def found(pages, query, outline=()):
    """Pages, 1-based, with strength and name, strongest first."""
    return [(f.row + 1, round(f.strength, 2), f.name) for f in table(pages, outline).find(query)]


PAPER = [
    make_page(
        1, ("title", "A study of tides"), ("text", "Table 2 shows that turbines work. See Section 3.2.")
    ),
    make_page(
        2,
        ("title", "Contents"),
        ("text", "3.2 Results of trials . . . . . 3\nTable 2: Costs of repair . . . . . 4"),
    ),
    make_page(3, ("title", "3.2 Results of trials"), ("text", "Everything went well.")),
    make_page(4, ("caption", "Table 2: Costs of repair"), ("table", "Cable 12 14\nPump 3 4")),
    make_page(5, ("caption", "Table 2.1: Other costs"), ("table", "Rope 1 2")),
    make_page(6, ("title", "Appendix B"), ("text", "More figures.")),
]


def test_the_page_that_holds_the_table_comes_before_those_that_mention_it():
    result = found(PAPER, "What does a pump cost according to Table 2?")
    assert result[0] == (4, 1.0, "Table 2")
    assert dict((page, strength) for page, strength, _ in result)[1] <= 0.5


def test_table_2_is_not_table_2_1():
    assert 5 not in [page for page, _, _ in found(PAPER, "Table 2")]
    assert [page for page, _, _ in found(PAPER, "Table 2.1")] == [5]


def test_an_entry_of_a_table_of_contents_counts_little():
    strengths = {page: strength for page, strength, _ in found(PAPER, "Table 2")}
    assert strengths[2] < 0.5 < strengths[4]


def test_the_lookup_points_to_the_caption():
    best = table(PAPER).find("Table 2")[0]
    assert best.regions == (PAPER[3].blocks[0].bbox,)


def test_a_section_is_found_by_its_bare_number_and_an_appendix_by_its_letter():
    assert found(PAPER, "What happened in section 3.2?")[0][0] == 3
    assert found(PAPER, "What is in Appendix B?")[0][0] == 6


def test_a_title_in_the_query_is_looked_up():
    assert (3, "3.2 Results of trials") in [
        (p, n) for p, _, n in found(PAPER, "What are the results of trials?")
    ]
    assert found(PAPER, "What are the results?") == []


def test_an_outline_title_is_looked_up():
    outline = [OutlineEntry(1, "Repair of cables", 5)]
    assert found(PAPER, "How long does the repair of cables take?", outline)[0] == (
        5,
        0.6,
        "Repair of cables",
    )


def test_a_title_on_every_page_singles_out_none():
    pages = [make_page(i, ("title", "Annual report summary"), ("text", f"page {i}")) for i in range(1, 12)]
    assert found(pages, "What does the annual report summary say?") == []


def test_quoted_words_are_looked_up():
    assert found(PAPER, 'What does "went well" mean?') == [(3, 0.5, '"went well"')]
    assert found(PAPER, "Answer 'yes' or 'no'.") == []


def test_a_page_number_means_the_label_first_and_the_physical_page_second():
    pages = [
        make_page(i, ("text", "x"), label=label) for i, label in enumerate([None, "i", "1", "2", "3"], 1)
    ]
    assert found(pages, "on page 2") == [(4, 1.0, "page 2"), (2, 0.9, "page 2")]
    assert found(pages, "on slide 2") == [(2, 1.0, "slide 2"), (4, 0.9, "slide 2")]
    assert found(pages, "on page i,") == []
    assert found(pages, "on the first page") == [(1, 1.0, "first page")]
    assert found(pages, "on page 5") == [(5, 1.0, "page 5")]
    assert found(pages, "on page 99") == []


def test_a_document_without_text_still_has_pages():
    pages = [make_page(i) for i in range(1, 4)]
    assert found(pages, "page 2, Table 1 and the cover") == [(1, 1.0, "cover"), (2, 1.0, "page 2")]
