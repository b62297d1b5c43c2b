"""Several documents in one run: every retrieved, read and cited page says whose it is."""

import json
import random
import shutil
from collections.abc import Sequence
from pathlib import Path

import pymupdf
import pytest
from agent_fakes import FakeDocument, ScriptedReader, make_page, make_run, quoting, saying

from agent.answer import answer, main
from agent.citations import cite, parse_model_raw, write_model_raw
from agent.config import Config
from agent.graph import ask
from agent.naming import document_names, page_name, ref_spans
from agent.readers.generative.pages import page_text
from agent.show import show
from agent.state import Run
from agent.trajectory import Trajectory
from agent.types import Decision, FactDraft, Reading
from indexes.errors import InputError
from indexes.types import BBox, OutlineEntry, PageRef
from retrieval.types import RetrievedPage

ALPHA = ["Alpha sold 4,812 lamps in 2023.", "Alpha has 42 offices.", "Nothing else."]
BETA = ["Beta sold 3,950 lamps in 2023.", "Beta has 17 offices."]


def fake(doc_id: str, texts: Sequence[str]) -> FakeDocument:
    pages = [make_page(i, [text], doc_id=doc_id, label=str(i + 6)) for i, text in enumerate(texts, 1)]
    return FakeDocument(pages, doc_id=doc_id)


class SetRetriever:
    """The pages of both documents by turns, the second's first."""

    def retrieve(self, query, k, exclude=()):
        """The pages in order."""
        refs = [PageRef("beta", 1), PageRef("alpha", 1), PageRef("beta", 2), PageRef("alpha", 2)]
        left = [ref for ref in [*refs, PageRef("gamma", 1), PageRef("beta", 3)] if ref not in exclude]
        return [RetrievedPage(ref, 1.0 / rank, rank) for rank, ref in enumerate(left[:k], start=1)]


@pytest.fixture
def both() -> list[FakeDocument]:
    return [fake("alpha", ALPHA), fake("beta", BETA)]


def go(reader, documents, **dials) -> Trajectory:
    run = make_run(reader, documents=documents, retriever=SetRetriever(), **dials)
    return ask("Who sold more lamps?", run, question_id="q", model="m")


def test_every_page_of_the_trajectory_names_its_document(both) -> None:
    reader = ScriptedReader(
        reads=quoting("Alpha sold 4,812 lamps", "Beta sold 3,950 lamps"), answers=saying("Alpha")
    )
    trajectory = go(reader, both)
    row = json.loads(trajectory.line())
    told = row["trajectory"]
    assert [known["doc"] for known in told["documents"]] == ["alpha", "beta"]
    (first,) = told["rounds"]
    assert [(p["doc"], p["page"]) for p in first["retrieved"][:2]] == [("beta", 1), ("alpha", 1)]
    assert len(first["retrieved"]) == 4  # a page of no document and one beyond the last are left out
    assert first["read"] == [{"doc": "beta", "page": 1}, {"doc": "alpha", "page": 1}]
    assert [(f["regions"][0]["doc"], f["regions"][0]["page"]) for f in told["facts"]] == [
        ("beta", 1),
        ("alpha", 1),
    ]
    assert {(e["doc"], e["page"], e["label"]) for e in told["labels"]} == {
        ("beta", 1, "7"),
        ("alpha", 1, "7"),
    }
    assert Trajectory.from_row(row).as_json() == trajectory.as_json()


def test_citations_say_whose_page_it_is_in_the_row_and_in_the_prose(both) -> None:
    reader = ScriptedReader(
        reads=quoting("Alpha sold 4,812 lamps", "Beta sold 3,950 lamps"), answers=saying("Alpha")
    )
    row = go(reader, both).row()
    assert [(c["doc"], c["page"]) for c in row["parsed"]["citations"]] == [("beta", 1), ("alpha", 1)]
    assert "Beta sold 3,950 lamps (document beta) [page=1, doc_page=" in row["model_raw"]
    # who knows nothing of our documents still reads every citation
    public = parse_model_raw(row["model_raw"])
    assert [c.page for c in public.citations] == [1, 1] and public.answer == "Alpha"


def test_a_single_document_is_named_in_the_row_but_not_in_the_prose() -> None:
    reader = ScriptedReader(reads=quoting("Alpha sold 4,812 lamps"), answers=saying("4,812"))
    run = make_run(reader, document=fake("alpha", ALPHA), k=3)
    row = ask("How many lamps?", run, question_id="q", model="m").row()
    assert [c["doc"] for c in row["parsed"]["citations"]] == ["alpha"]
    assert "(document" not in row["model_raw"]


def test_pages_of_one_number_in_two_documents_are_two_pages(both) -> None:
    """Neither the ledger nor what was seen nor what a reader wants may mix them up."""

    def reads(task):
        drafts = [FactDraft(page.ref, "Lamps were sold.", page.words.texts[0], 0.5) for page in task.pages]
        return Reading(tuple(drafts), wanted=(PageRef("alpha", 3), PageRef("beta", 3), PageRef("x", 1)))

    def decides(task):
        return Decision("retrieve", "more", ("lamps again",))

    trajectory = go(ScriptedReader(reads=reads, decides=decides), both, rounds=2, k=2, max_pages=4)
    assert [record.read for record in trajectory.rounds] == [
        (PageRef("beta", 1), PageRef("alpha", 1)),
        (PageRef("alpha", 3), PageRef("beta", 2)),
    ]
    assert [fact.regions[0].ref for fact in trajectory.facts][:2] == [PageRef("beta", 1), PageRef("alpha", 1)]


def test_drafts_on_pages_that_are_not_there_are_dropped_with_their_document(both) -> None:
    def reads(task):
        refs = PageRef("gamma", 1), PageRef("beta", 9), PageRef("alpha", 2)
        return Reading(tuple(FactDraft(ref, "a", "a", 0.5) for ref in refs))

    dropped = go(ScriptedReader(reads=reads), both).rounds[0].dropped
    assert dropped == (
        "page 1 of gamma: no document of the run",
        "page 9 of beta: the document has 2 pages",
        "page 2 of alpha: it was not read in this round",
    )


def test_a_page_that_fails_is_said_with_its_document(both) -> None:
    both[1].failing = {1}
    trajectory = go(ScriptedReader(), both)
    assert [e.message for e in trajectory.rounds[0].errors] == ["page 1 of beta could not be opened"]


def test_the_outline_holds_each_documents_outline_under_its_name(both) -> None:
    both[0].outline = (OutlineEntry(1, "Sales", 2),)
    run = make_run(ScriptedReader(), documents=both)
    assert run.outline == (
        OutlineEntry(1, "alpha", 1),
        OutlineEntry(2, "Sales", 2),
        OutlineEntry(1, "beta", 1),
    )


def test_readers_are_told_which_documents_there_are_and_models_whose_a_page_is(both) -> None:
    reader = ScriptedReader()
    go(reader, both)
    (task,) = reader.tasks
    assert task.documents == ("alpha", "beta")
    text = page_text(both[1].by_number[1], len, 10_000, several=True)
    assert text.startswith('<page number="1" label="7" document="beta">')
    assert "document" not in page_text(both[1].by_number[1], len, 10_000)


def test_a_set_that_is_read_through_leaves_nothing(both) -> None:
    reader = ScriptedReader(decides=lambda task: Decision("retrieve", "more"))
    trajectory = go(reader, both, rounds=9, k=3, max_pages=99)
    assert trajectory.stop == "nothing_left" and len(trajectory.pages_read) == 4


def test_documents_of_one_name_are_our_mistake(both) -> None:
    with pytest.raises(ValueError, match="an id of its own"):
        Run([both[0], both[0]], SetRetriever(), ScriptedReader(), make_run(ScriptedReader()).config)


def test_people_see_whose_pages_they_are(both) -> None:
    reader = ScriptedReader(
        reads=quoting("Alpha sold 4,812 lamps", "Beta sold 3,950 lamps"), answers=saying("Alpha")
    )
    text = show(go(reader, both))
    assert "beta, p. 1 (label 7)  [" in text and "2 pages read (beta 1; alpha 1)" in text
    assert ref_spans([PageRef("a", 2), PageRef("a", 1)]) == "1-2"
    assert page_name(PageRef("a\x1b[2J", 2), several=True) == "page 2 of a"


def test_names_of_documents_are_distinct_and_safe() -> None:
    ids = ["2023/report", "2023 report", "2023-report", "a (document b) [page=1]", "\u202e", "..", "x" * 500]
    names = document_names(ids)
    assert len(set(names.values())) == len(ids)
    assert names["2023/report"] == "2023-report" and names["2023 report"] == "2023-report-2"
    for name in names.values():
        assert not set(name) & set("()[]/\\ \n\"'") and name.strip(".-") == name and len(name) < 90


def test_writing_and_parsing_are_inverses_for_any_documents() -> None:
    rng = random.Random(11)
    ids = ["a", "b", "2023/b", "Annual Report. Vol. 2", "c)", "(document a)", "\u5831\u544a"]
    texts = [
        "Sales rose",
        "It fell (document a)",
        "see (document b) [page=2, bbox=[0, 0, 1, 1]]",
        "",
        "A. B. C.",
        "x (b",
    ]
    for _ in range(300):
        documents = rng.sample(ids, rng.randint(2, len(ids)))
        facts = []
        for _ in range(rng.randint(0, 4)):
            cited = [
                cite(rng.randint(1, 99), "3", BBox(0.1, 0.2, 0.3, 0.4), rng.choice(documents))
                for _ in range(rng.randint(1, 4))
            ]
            facts.append((rng.choice(texts), cited))
        parsed = parse_model_raw(write_model_raw(facts, "x", "lead (document a)", documents), documents)
        expected = [(c.page, c.doc) for _, citations in facts for c in citations]
        assert [(c.page, c.doc) for c in parsed.citations] == expected


def test_a_citation_whose_document_is_not_said_has_none() -> None:
    text = "A [page=1, bbox=[0.1, 0.1, 0.2, 0.2]]. B (document z) [page=2, bbox=[0.1, 0.1, 0.2, 0.2]]."
    assert [c.doc for c in parse_model_raw(text, ["a", "b"]).citations] == [None, None]
    assert "doc" not in parse_model_raw(text).citations[0].as_json()


@pytest.fixture(scope="module")
def pdfs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    paths = []
    for folder, texts in (("2023", ALPHA), ("2022", BETA)):
        path = tmp_path_factory.mktemp("several") / folder / "report.pdf"
        path.parent.mkdir()
        with pymupdf.open() as made:
            for text in texts:
                made.new_page().insert_text((72, 100), text, fontsize=11)
            made.save(path)
        paths.append(path)
    return paths


def test_two_real_documents_of_one_name_are_searched_and_cited_together(pdfs: list[Path], tmp_path) -> None:
    run = answer(pdfs[0], "How many lamps did Beta sell in 2023?", also=[pdfs[1]])
    assert list(run.documents) == ["2023/report", "2022/report"]
    (fact,) = [fact for fact in run.facts if "3,950" in fact.quote]
    assert fact.regions[0].ref == PageRef("2022/report", 1)
    assert {page.ref.doc_id for page in run.rounds[0].retrieved} == set(run.documents)


def test_the_command_writes_the_pictures_of_each_document(pdfs: list[Path], tmp_path: Path, capsys) -> None:
    out = tmp_path / "out"
    arguments = [str(pdfs[0]), "How many lamps did Alpha and Beta sell in 2023?", "--also", str(pdfs[1])]
    assert main([*arguments, "--quiet", "--out", str(out)]) == 0
    row = json.loads((out / "answer.json").read_text(encoding="utf-8"))
    cited = {(c["doc"], c["page"]) for c in row["parsed"]["citations"]}
    names = {f"{doc.replace('/', '-')}-page-{page:04d}.png" for doc, page in cited}
    marked = {f"{doc.replace('/', '-')}-answer.pdf" for doc, _ in cited}
    assert cited and {file.name for file in out.iterdir()} == {"answer.html", "answer.json", *names, *marked}
    assert row["question_id"] == "2023/report::q1"


def test_a_further_document_that_is_not_there_ends_with_one_line_before_the_first_is_read(
    pdfs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGETRAIL_CACHE", str(tmp_path / "fresh"))
    with pytest.raises(InputError, match=r"gone\.pdf: no such file") as caught:
        main([str(pdfs[0]), "Who?", "--quiet", "--also", str(tmp_path / "gone.pdf")])
    assert "\n" not in str(caught.value) and not (tmp_path / "fresh" / "pages").exists()


@pytest.mark.parametrize("name", ["", " "])
def test_a_document_without_a_name_is_refused(pdfs: list[Path], name: str) -> None:
    for paths in ([str(pdfs[0]), name], [name, str(pdfs[0])]):
        with pytest.raises(InputError, match="has no name"):
            answer(paths[0], "Who?", also=paths[1:])


def test_a_model_that_is_not_here_is_said_before_the_documents_are_read(
    pdfs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGETRAIL_CACHE", str(tmp_path / "fresh"))
    config = Config(reader="qwen", reader_model=str(tmp_path / "gone"))
    with pytest.raises(InputError, match="no such folder"):
        answer(pdfs[0], "Who?", config=config)
    assert not (tmp_path / "fresh" / "pages").exists()


def test_a_folder_of_documents_is_several(pdfs: list[Path], tmp_path: Path) -> None:
    for number, pdf in enumerate(pdfs, start=1):
        shutil.copy(pdf, tmp_path / f"report-{number}.pdf")
    run = answer(tmp_path, "How many offices has Beta?")
    assert list(run.documents) == ["report-1", "report-2"]
    assert any(fact.regions[0].ref == PageRef("report-2", 2) for fact in run.facts)


def test_a_document_named_twice_is_one_document(pdfs: list[Path]) -> None:
    run = answer(pdfs[0], "How many offices has Alpha?", also=[pdfs[0]])
    assert len(run.documents) == 1 and "(document" not in run.model_raw()
