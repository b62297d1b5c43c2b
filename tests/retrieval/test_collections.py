"""Several documents and whole corpora: pages say whose they are, and each document keeps what is its own."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from retrieval_fakes import WordEncoder, WordIndex, make_page, texts_to_pages

import indexes.build
import retrieval.corpus
import retrieval.hybrid
from indexes.build import main as build
from indexes.errors import InputError
from indexes.types import PageRef
from retrieval.bm25 import Bm25
from retrieval.corpus import VectorRetriever, open_corpus
from retrieval.fusion import with_neighbours
from retrieval.hybrid import HybridRetriever
from retrieval.members import Member, Members
from retrieval.search import main as search
from tests.indexes.make_pdfs import text_pdf

NORTH = (
    "Northern harbour report.",
    "The harbour was built in 1902 of granite.",
    "Cranes cost six million euros a year.",
)
SOUTH = (
    "Southern harbour report.",
    "The harbour was built in 1957 of concrete.",
    "The board has five members.",
    "Cranes cost two million euros a year.",
)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    import torch

    torch.set_num_threads(1)


def of(doc_id, pages):
    """Pages that belong to a document of that name."""
    from dataclasses import replace

    return [replace(page, ref=PageRef(doc_id, page.ref.page)) for page in pages]


def retriever(**documents):
    pages = {name: of(name, own) for name, own in documents.items()}
    members = [Member(name, own, labels=[page.label for page in own]) for name, own in pages.items()]
    index = WordIndex([page for own in pages.values() for page in own])
    return HybridRetriever(members, index, WordEncoder())


def harbours():
    return retriever(north=texts_to_pages(*NORTH), south=texts_to_pages(*SOUTH))


def refs(found):
    return [(page.ref.doc_id, page.ref.page) for page in found]


def test_pages_of_all_documents_are_in_one_ranking():
    found = harbours().retrieve("harbour of concrete", 99)
    assert refs(found)[0] == ("south", 2)
    assert sorted(refs(found)) == [("north", n) for n in (1, 2, 3)] + [("south", n) for n in (1, 2, 3, 4)]
    assert [page.rank for page in found] == list(range(1, 8))


def test_excluded_pages_of_one_document_leave_those_of_the_other():
    found = harbours().retrieve("cranes", 2, exclude={PageRef("south", 4)})
    assert refs(found)[0] == ("north", 3)
    assert PageRef("south", 4) not in [page.ref for page in found]


def test_words_are_weighed_by_their_rarity_in_all_documents():
    together = harbours().evidence("harbour granite").signals["bm25 pages"]
    units = [page.split() for page in (*NORTH, *SOUTH)]
    lower = [[word.lower().strip(".") for word in unit] for unit in units]
    expected = Bm25(lower).scores({"harbour": 1.0, "granite": 1.0})
    assert np.argsort(-expected)[0] == np.argmax(together) == 1
    assert np.isfinite(together).tolist() == (expected > 0).tolist()


def test_a_page_is_looked_up_in_every_document_by_its_own_numbering():
    first = [make_page(i, ("text", f"x{i}"), label=label) for i, label in enumerate(["i", "1", "2"], 1)]
    second = [make_page(i, ("text", f"y{i}"), label=label) for i, label in enumerate(["1", "2", "3"], 1)]
    found = retriever(first=first, second=second).retrieve("page 2", 2)
    assert set(refs(found)) == {("first", 3), ("second", 2)}
    assert all("lookup: page 2" in page.matched for page in found)


def test_a_table_is_looked_up_where_it_is_and_its_region_is_on_that_page():
    tables = [
        make_page(1, ("text", "Nothing here.")),
        make_page(2, ("caption", "Table 4.16: Members"), ("table", "Halvorsen chair 2016")),
    ]
    best = retriever(north=texts_to_pages(*NORTH), tables=tables).retrieve("What does Table 4.16 list?", 1)[0]
    assert refs([best]) == [("tables", 2)]
    assert best.regions[0] == tables[1].blocks[0].bbox


def test_the_document_that_the_query_names_comes_first():
    years = {
        f"acme {year}": texts_to_pages(f"Report {year}", "Revenue was stated.", "Costs.")
        for year in (2021, 2022)
    }
    for year in (2021, 2022):
        found = retriever(**years).retrieve(f"revenue of acme in {year}", 3)
        assert {page.ref.doc_id for page in found[:2]} == {f"acme {year}"}
        assert "document" in found[0].matched


def test_one_document_is_never_named_nor_is_any_by_words_that_all_titles_have():
    alone = Members([Member("harbour", texts_to_pages("harbour"))])
    assert alone.named({"harbour": 1.0}, lambda term: 1.0).tolist() == [0]
    both = harbours().evidence("the harbour").signals["documents"]
    assert not both.any()


def test_a_page_has_no_neighbour_in_another_document():
    raised = with_neighbours(np.array([0, 9, 0, 0], np.float32), share=0.5, best=1, starts={0, 2, 4})
    assert raised.tolist() == [4.5, 9, 0, 0]


FILING = [
    make_page(1, ("text", "Annual report.")),
    make_page(
        2,
        ("title", "CONSOLIDATED STATEMENTS OF INCOME"),
        (
            "table",
            "Net sales 1,000 900\nCost of sales 600 550\nGross profit 400 350\nOperating income 150 120\n"
            "Interest expense 10 9\nProvision for income taxes 40 30\nNet income 100 81",
        ),
    ),
    make_page(
        3,
        ("title", "CONSOLIDATED BALANCE SHEETS"),
        (
            "table",
            "Cash and cash equivalents 100 90\nInventories 50 40\nTotal current assets 200 180\n"
            "Total assets 400 380\nAccounts payable 70 60\nTotal current liabilities 120 110\n"
            "Retained earnings 90 80",
        ),
    ),
]


def test_statements_are_known_in_each_filing_and_in_nothing_else():
    both = retriever(zenith=FILING, acme=FILING, novel=texts_to_pages("Cost of sales and net income.", "x"))
    found = both.retrieve("What are the COGS of acme in the P&L statement?", 2)
    assert refs(found) == [("acme", 2), ("zenith", 2)]
    assert all("statement: income statement" in page.matched for page in found)
    signals = both.evidence("What are the COGS of acme?").signals
    assert not np.isfinite(signals["vocabulary pages"][6:]).any()


def test_documents_of_the_same_name_and_no_documents_are_refused():
    member = Member("a", texts_to_pages("x"))
    with pytest.raises(ValueError, match="each with a doc_id of its own"):
        Members([member, member])
    with pytest.raises(ValueError, match="at least one"):
        Members([])


def test_of_many_pages_only_likely_ones_are_compared_and_the_first_pages_stay_the_same(monkeypatch):
    class Index(WordIndex):
        def best_matches(self, query, rows=None):
            whole = np.array([[(q @ p.vectors.T).max() for q in query.vectors] for p in self._pages])
            return whole if rows is None else whole[list(rows)]

    pages = texts_to_pages(*(f"word{i} word{i + 1} common" for i in range(60)))
    many = HybridRetriever([Member("doc", pages)], Index(pages), WordEncoder())
    exact = refs(many.retrieve("word7 word8 common", 5))
    monkeypatch.setattr(retrieval.hybrid, "SMALL", 10)
    monkeypatch.setattr(retrieval.hybrid, "LIKELY", 8)
    late = many.evidence("word7 word8 common").signals["late interaction"]
    assert 8 <= np.isfinite(late).sum() <= 32
    assert refs(many.retrieve("word7 word8 common", 5)) == exact


@pytest.fixture
def tree(tmp_path):
    for name, texts in (("2022/harbour.pdf", NORTH), ("2023/harbour.pdf", SOUTH)):
        (tmp_path / "tree" / name).parent.mkdir(parents=True)
        text_pdf(tmp_path / "tree" / name, texts)
    return tmp_path / "tree"


@pytest.fixture
def corpus(tree, capsys):
    assert build([str(tree), "--out", str(tree.parent / "corpus"), "--quiet"]) == 0
    capsys.readouterr()
    return tree.parent / "corpus"


def rows(capsys, *arguments):
    assert search([*map(str, arguments), "--json", "--quiet"]) == 0
    return [json.loads(line)["pages"] for line in capsys.readouterr().out.splitlines()]


def test_the_command_searches_a_named_set(tree, capsys):
    first, second = tree / "2022" / "harbour.pdf", tree / "2023" / "harbour.pdf"
    (pages,) = rows(capsys, first, "built of concrete", "--also", second)
    assert (pages[0]["doc"], pages[0]["page"]) == ("2023/harbour", 2)
    assert {page["doc"] for page in pages} == {"2022/harbour", "2023/harbour"}
    assert len(pages) == 7
    assert search([str(first), "built of concrete", "--also", str(second), "--quiet"]) == 0
    assert "  1. 2023/harbour  p. 2  score " in capsys.readouterr().out


def test_the_command_searches_a_corpus_with_the_words_of_its_documents(corpus, capsys):
    (pages, cranes) = rows(capsys, "--corpus", corpus, "built of concrete", "cranes in the 2022 harbour")
    assert (pages[0]["doc"], pages[0]["page"]) == ("2023/harbour", 2)
    assert (cranes[0]["doc"], cranes[0]["page"]) == ("2022/harbour", 3)
    assert search(["--corpus", str(corpus), "built of concrete", "-k", "1"]) == 0
    output = capsys.readouterr()
    assert "bm25 pages" in output.out and "note:" not in output.err


def test_a_moved_corpus_finds_its_documents_beside_it(corpus, tree, tmp_path, capsys):
    (tmp_path / "elsewhere").mkdir()
    for folder in (corpus, tree):
        shutil.move(folder, tmp_path / "elsewhere" / folder.name)
    with open_corpus(tmp_path / "elsewhere" / "corpus") as opened:
        assert opened.why == "" and list(opened.documents) == ["2022/harbour", "2023/harbour"]


@pytest.mark.parametrize("harm", ["away", "changed"])
def test_without_its_documents_a_corpus_is_ranked_by_vectors_and_says_so(corpus, tree, capsys, harm):
    path = tree / "2022" / "harbour.pdf"
    path.unlink() if harm == "away" else text_pdf(path, ["Something else."])
    assert search(["--corpus", str(corpus), "built of concrete", "-k", "2"]) == 0
    output = capsys.readouterr()
    reason = "is not there" if harm == "away" else "has changed since it was indexed"
    assert f"note: pages are ranked by their vectors alone: {path} {reason}" in output.err
    assert output.out.splitlines()[1].startswith("  1. 2023/harbour  p. 2  score ")
    (pages,) = rows(capsys, "--corpus", corpus, "built of concrete")
    assert (pages[0]["doc"], pages[0]["page"], pages[0]["label"]) == ("2023/harbour", 2, None)
    assert pages[0]["regions"]


def test_vectors_alone_can_be_asked_for(corpus, capsys):
    with open_corpus(corpus, words=False) as opened:
        assert isinstance(opened.retriever, VectorRetriever) and opened.why == "as asked"
        found = opened.retriever.retrieve("built of concrete", 3)
        again = opened.retriever.retrieve("built of concrete", 3, exclude={found[0].ref})
        assert [page.rank for page in again] == [1, 2, 3] and found[0].ref not in [p.ref for p in again]
        assert len(opened.retriever.retrieve("", 99)) == 7
        with pytest.raises(ValueError, match="k = 0"):
            opened.retriever.retrieve("x", 0)


def test_of_a_large_corpus_likely_pages_are_found_first(tree, tmp_path, monkeypatch, capsys):
    for module in (indexes.build, retrieval.corpus):
        monkeypatch.setattr(module, "LARGE", 5)
    out = tmp_path / "large"
    assert build([str(tree), "--out", str(out), "--quiet"]) == 0
    with open_corpus(out) as opened:
        assert opened.why == "7 pages are more than the 5 whose words are held in memory"
        assert opened.retriever.index.ivf is not None
        best = opened.retriever.retrieve("built of concrete", 1)[0]
        assert (best.ref, best.matched) == (PageRef("2023/harbour", 2), ("vectors",))
    text_pdf(tree / "third.pdf", ["A third harbour."])
    monkeypatch.setattr(indexes.build, "LARGE", 99)
    assert build([str(tree), "--out", str(out), "--quiet"]) == 0
    with open_corpus(out) as opened:  # what finds likely pages is of fewer documents now
        assert opened.retriever.index.ivf is None
        assert opened.retriever.retrieve("built of concrete", 1)[0].ref == best.ref


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--corpus", "CORPUS"], "no query"),
        (["--corpus", "TREE", "x"], "no corpus"),
        (["--corpus", "CORPUS", "x", "--also", "TREE"], "--also is for documents"),
        (["--corpus", "CORPUS", "x", "--no-ocr"], "--no-ocr is for documents"),
        (["TREE/2022/harbour.pdf", "x", "--vectors-only"], "--vectors-only is for a corpus"),
        (["--corpus", "CORPUS", "x", "--encoder", "colqwen"], "needs a model"),
        (["TREE/2022/harbour.pdf", "x", "--also", "TREE/none.pdf"], "no such file"),
    ],
)
def test_mistakes_are_a_line(corpus, tree, arguments, reason):
    filled = [a.replace("CORPUS", str(corpus)).replace("TREE", str(tree)) for a in arguments]
    with pytest.raises(InputError, match=reason):
        search([*filled, "--quiet"])


def test_an_encoder_that_did_not_build_the_corpus_is_refused(corpus):
    with pytest.raises(InputError, match="was built with encoder 'minilm', not 'words'"):
        with open_corpus(corpus, encoder=WordEncoder()):
            pass


def test_an_index_that_is_missing_from_a_corpus_is_named(corpus):
    folder = json.loads((corpus / "corpus.json").read_text())["documents"][0]["folder"]
    shutil.rmtree(corpus / Path(folder))
    with pytest.raises(InputError, match=f"index .*{folder}: .*build it again"):
        with open_corpus(corpus):
            pass
