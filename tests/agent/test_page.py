"""A run as HTML: everything is said, nothing is taken for markup."""

import html
import re
from dataclasses import replace

import pytest
from agent_fakes import ScriptedReader, make_run, quoting, saying

from agent.graph import ask
from agent.page import (
    MAX_OTHER,
    Picture,
    Reference,
    Shown,
    evidence_refs,
    fragment,
    page,
    pictures_of,
    script_json,
    write_page,
)
from agent.trajectory import Trajectory
from agent.types import EvidenceRegion, Fact
from indexes.types import BBox, PageRef

TAG = "<b onclick='x()'>&\""


@pytest.fixture
def run() -> Trajectory:
    reader = ScriptedReader(reads=quoting("It has 42 offices."), answers=saying("42"))
    return ask("How many offices does it have?", make_run(reader), question_id="q", model="m")


def test_question_answer_facts_rounds_and_cost_are_all_there(run):
    text = html.unescape(fragment(Shown(run)))
    for said in ("How many offices does it have?", "42", "It has 42 offices.", "exact", "Round 1", "enough"):
        assert said in text
    assert "stopped" in text and "config" in text


def test_texts_are_escaped_wherever_they_stand(run):
    fact = replace(run.facts[0], text=f"{TAG} fact", quote=f"{TAG} quote")
    record = replace(run.rounds[0], queries=(f"{TAG} query",), dropped=(f"{TAG} dropped",))
    reply = replace(run.reply, text=f"{TAG} answer", reason=f"{TAG} reason", expression=f"{TAG} 1")
    hostile = replace(
        run,
        question=f"{TAG} question",
        facts=(fact,),
        rounds=(record,),
        reply=reply,
        revised=f"{TAG} revised",
        labels={ref: f"{TAG} label" for ref in run.labels},
        config={"reader": f"{TAG} reader"},
    )
    reference = Reference(f"{TAG} gold", facts=(f"{TAG} gold fact",))
    pictures = {fact.regions[0].ref: Picture(100, 100, src="data:,")}
    text = fragment(Shown(hostile, reference, ((f"{TAG} verdict", "bad"),), pictures))
    assert "<b onclick" not in text and text.count("&lt;b onclick") >= 14
    whole = page([Shown(hostile, reference)], f"{TAG} title")
    assert "<b onclick" not in whole and "<title>&lt;b onclick" in whole


def test_boxes_stand_where_the_regions_are_and_tell_found_from_gold(run):
    ref = run.facts[0].regions[0].ref
    found = replace(run.facts[0], regions=(EvidenceRegion(ref, BBox(0.1, 0.2, 0.5, 0.25)),))
    reference = Reference("42", (ref,), (EvidenceRegion(ref, BBox(0.0, 0.5, 1.0, 0.6)),))
    picture = Picture(1000, 2000, src="data:,")
    text = fragment(Shown(replace(run, facts=(found,)), reference, pictures={ref: picture}))
    assert 'class="box predicted" data-fact="f1"' in text and 'class="box gold" data-fact="g1"' in text
    assert '<rect x="100.0" y="400.0" width="400.0" height="100.0"' in text
    assert '<rect x="0.0" y="1000.0" width="1000.0" height="200.0"' in text
    assert "gold page" in text


def test_gold_pages_come_after_those_of_the_answer_and_each_once(run):
    ref = run.facts[0].regions[0].ref
    other = PageRef(ref.doc_id, 5)
    reference = Reference("42", (ref, other), (EvidenceRegion(other, BBox(0, 0, 1, 1)),))
    assert evidence_refs(run, reference) == [ref, other]
    text = fragment(Shown(run, reference, most=1))
    assert "and 1 more: p. 5" in text


def test_a_failed_run_says_so_and_has_no_answer():
    def fails(*_):
        raise RuntimeError("nothing works")

    reader = ScriptedReader(reads=quoting("It has 42 offices."), answers=fails)
    text = fragment(Shown(ask("How many?", make_run(reader), question_id="q", model="m")))
    assert "none: the run failed" in text and "nothing works" in text


def test_of_very_many_facts_the_best_are_listed_and_the_rest_counted(run):
    region = run.facts[0].regions[0]
    more = tuple(
        Fact(f"f{i}", f"fact number {i}", "", (region,), "none", 1, 1 / i) for i in range(2, MAX_OTHER + 12)
    )
    text = fragment(Shown(replace(run, facts=(*run.facts, *more))))
    assert "fact number 2<" in text and "fact number 51<" not in text
    assert f"{MAX_OTHER + 10} other facts" in text and "and 10 more" in text


def test_pages_of_several_documents_say_whose_they_are(run):
    known = next(iter(run.documents.values()))
    text = fragment(Shown(replace(run, documents={**run.documents, "annex": known})))
    assert "fake, p. 2" in text


def test_a_picture_is_a_small_image_of_the_page(sample_pdf, tmp_path, run):
    from indexes.document import Document

    with Document.open(sample_pdf) as document:
        refs = [PageRef(document.doc_id, 10), PageRef(document.doc_id, 99), PageRef("another", 1)]
        pictures = pictures_of([document], refs)
        assert list(pictures) == refs[:1]  # the others cannot be rendered
        picture = pictures[refs[0]]
        assert picture.src.startswith("data:image/webp;base64,") and len(picture.src) < 200_000
        assert 0.6 < picture.width / picture.height < 0.8
        path = write_page([document], [run, run], tmp_path / "runs.html")
    text = path.read_text()
    assert text.count('<article class="run">') == 2
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/=]+'", text)


def test_json_in_a_script_element_cannot_end_it():
    assert script_json("</script><!--\u2028") == '"\\u003c/script\\u003e\\u003c!--\\u2028"'
