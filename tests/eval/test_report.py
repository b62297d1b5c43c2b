"""The HTML page of a run, in a real browser where there is one."""

import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from report_fakes import HOSTILE, make_benchmark, make_rows, trajectory, write_run

pytest.importorskip("matplotlib")

from agent.page import Shown, page, script_json  # noqa: E402
from agent.types import EvidenceRegion  # noqa: E402
from eval.benchmarks import load  # noqa: E402
from eval.report.__main__ import main, report, show_answer  # noqa: E402
from eval.report.build import build, verdict  # noqa: E402
from eval.report.figures import Line, bar_plot, line_plot  # noqa: E402
from eval.report.load import Gold, load_run  # noqa: E402
from eval.report.pictures import PictureStore  # noqa: E402
from eval.report.sections import chain_section, mean, stage_section  # noqa: E402
from eval.tables import Cell  # noqa: E402
from indexes.errors import InputError  # noqa: E402
from indexes.types import BBox, PageRef  # noqa: E402

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_benchmark(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def run_folder(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(data, tmp_path_factory.mktemp("runs") / "fake", make_rows(load("docscope", data)))


@pytest.fixture(scope="module")
def html(run_folder: Path) -> Path:
    report(run_folder, run_folder / "report.html")
    return run_folder / "report.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield opened
        opened.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Any]:
    """Opens a file; at the end nothing may have gone wrong on any page, nor have been asked of a network."""
    pages, slips, asked = [], [], []

    def opened(path: Path, width: int = 1440) -> Any:
        tab = browser.new_page(viewport={"width": width, "height": 900})
        tab.on("console", lambda said: slips.append(said.text) if said.type in ("error", "warning") else None)
        tab.on("pageerror", lambda error: slips.append(str(error)))
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(path.as_uri())
        pages.append(tab)
        return tab

    yield opened
    for tab in pages:
        assert tab.evaluate("window.hacked") is None
        tab.close()
    assert slips == []
    assert all(url.startswith(("file:", "data:")) for url in asked)


# ---- in a browser


def opened(tab, question):
    """Opens a question; the browser tells the page of it a moment after the click."""
    tab.locator(f"{question} > summary").click()
    tab.locator(f"{question} article").first.wait_for()


def test_the_page_renders_and_says_how_many_questions_there_are(visit, html):
    tab = visit(html)
    assert tab.locator("h1").inner_text() == "docscope: fake"
    assert tab.locator("details.q").count() == 10
    assert tab.locator("#count").inner_text() == "10 of 10"
    plots = tab.locator(".plots img")
    assert plots.count() > 5
    for place in range(plots.count()):
        assert plots.nth(place).evaluate("img => img.complete && img.naturalWidth > 0")


def test_the_filters_work_alone_and_together(visit, html):
    tab = visit(html)

    def shown() -> int:
        return tab.locator("details.q:visible").count()

    assert shown() == 10
    tab.select_option("#verdict", "correct")
    correct = shown()
    assert 0 < correct < 10 and tab.locator("#count").inner_text() == f"{correct} of 10"
    tab.select_option("#verdict", "")
    tab.select_option("#stage", "bbox")
    assert shown() == 1
    tab.select_option("#stage", "run")
    assert shown() == 2  # failed, and no row
    tab.select_option("#stage", "")
    tab.select_option("#slice", label="chart")
    assert shown() == 1
    tab.select_option("#verdict", "failed")
    assert shown() == 0
    tab.select_option("#verdict", "")
    tab.select_option("#slice", "")
    tab.fill("#text", "DEPUTY chair")
    assert shown() == 1
    tab.fill("#text", "")
    assert shown() == 10


def test_a_script_in_a_documents_text_stays_text(visit, html):
    tab = visit(html)
    for place in range(10):
        opened(tab, f"#q{place}")
    body = tab.locator("body").inner_text()
    assert "<script>window.hacked=1</script>" in body
    assert "{{ 7 * 7 }}" in body
    assert tab.locator("article.run").count() == 10
    assert tab.evaluate("document.querySelectorAll('script[src], img[src=x], iframe').length") == 0
    assert tab.evaluate("window.hacked") is None


def test_a_question_shows_its_pages_with_red_and_green_boxes_when_it_is_opened(visit, html):
    tab = visit(html)
    first = tab.locator("#q0")
    assert first.locator("article").count() == 0  # nothing is made before it is asked for
    first.locator("> summary").click()
    first.locator("article").first.wait_for()
    picture = first.locator(".sheet img").first
    picture.scroll_into_view_if_needed()
    tab.wait_for_function("document.querySelector('#q0 .sheet img').naturalWidth > 0")
    colour = "rect => getComputedStyle(rect).stroke"
    assert first.locator(".box.predicted rect").first.evaluate(colour) == "rgb(192, 24, 24)"
    assert first.locator(".box.gold rect").first.evaluate(colour) == "rgb(10, 122, 51)"
    dashes = "rect => getComputedStyle(rect).strokeDasharray"
    assert first.locator(".box.gold rect").first.evaluate(dashes) != "none"  # told apart without colour too
    sheet, box = picture.bounding_box(), first.locator(".box.gold rect").first.bounding_box()
    assert sheet["x"] <= box["x"] and box["x"] + box["width"] <= sheet["x"] + sheet["width"] + 1
    assert first.locator("details.round").count() == 2


def test_a_fact_lights_up_with_its_box(visit, html):
    tab = visit(html)
    opened(tab, "#q0")
    tab.locator("#q0 li[data-fact=f1]").hover()
    assert tab.locator("#q0 .box.predicted.lit").count() >= 1


def test_a_link_to_a_question_opens_it(visit, html):
    tab = visit(html.with_name("report.html"))
    tab.goto(html.as_uri() + "#q3")
    tab.wait_for_selector("#q3 article")


@pytest.mark.parametrize("width", [1440, 390])
def test_nothing_is_wider_than_the_window(visit, html, width):
    tab = visit(html, width)
    for place in (0, 1, 3):
        opened(tab, f"#q{place}")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_pictures_may_lie_beside_the_page(visit, run_folder, tmp_path):
    report(run_folder, tmp_path / "r.html", pictures="beside")
    assert list((tmp_path / "r_files").glob("*.webp"))
    tab = visit(tmp_path / "r.html")
    opened(tab, "#q0")
    tab.locator("#q0 .sheet img").first.scroll_into_view_if_needed()
    tab.wait_for_function("document.querySelector('#q0 .sheet img').naturalWidth > 0")


def test_a_thousand_questions_are_opened_and_filtered(visit, run_folder, tmp_path):
    entries = load_run(run_folder, Gold()).entries() * 100
    path = tmp_path / "many.html"
    path.write_text(build("many", [], [], entries, PictureStore(tmp_path, "none")), encoding="utf-8")
    tab = visit(path)
    assert tab.locator("#count").inner_text() == "1000 of 1000"
    assert tab.locator("article").count() == 0
    tab.select_option("#stage", "bbox")
    assert tab.locator("#count").inner_text() == "100 of 1000"
    opened(tab, "#q1")
    assert tab.locator("article").count() == 1


def test_the_page_of_one_answer_works_alone(visit, data, tmp_path):
    question = load("docscope", data)[0]
    regions = [EvidenceRegion(question.gold_pages[0], BBox(0.1, 0.3, 0.8, 0.32))]
    (tmp_path / "answer.json").write_text(trajectory(question, HOSTILE, regions=regions, text=HOSTILE).line())
    with pytest.raises(InputError, match="none of the documents given"):
        show_answer(tmp_path / "answer.json", [data / "pdfs" / "highlights.pdf"], tmp_path / "a.html")
    show_answer(tmp_path / "answer.json", [], tmp_path / "answer.html")
    tab = visit(tmp_path / "answer.html")
    assert "<script>window.hacked=1</script>" in tab.locator(".said").first.inner_text()


# ---- without one


def test_many_pictures_lie_beside_the_page_of_themselves(run_folder, tmp_path, monkeypatch):
    monkeypatch.setattr("eval.report.pictures.EMBEDDED", 2)
    report(run_folder, tmp_path / "r.html")
    files = {path.name for path in (tmp_path / "r_files").iterdir()}
    named = set(re.findall(r"r_files/(p\d+\.webp)", (tmp_path / "r.html").read_text()))
    assert files == named and len(files) > 2


def test_a_document_that_is_gone_leaves_its_pages_without_pictures(tmp_path):
    store = PictureStore(tmp_path / "files", "embed")
    store.render({tmp_path / "gone.pdf": [1, 2]})
    assert store.pictures == {} and len(store.failed) == 2


def test_an_answer_is_shown_on_the_pages_of_its_document(data, tmp_path):
    question = load("docscope", data)[0]
    regions = [EvidenceRegion(question.gold_pages[0], BBox(0.1, 0.3, 0.8, 0.32))]
    pdf = data / "pdfs" / "report.pdf"
    known = {"report": {"sha256": hashlib.sha256(pdf.read_bytes()).hexdigest(), "pages": 15}}
    run = replace(trajectory(question, "7,151", regions=regions), documents=known)
    (tmp_path / "answer.json").write_text(run.line())
    assert main(["--trajectory", str(tmp_path / "answer.json"), str(pdf), "--quiet"]) == 0
    text = (tmp_path / "answer.html").read_text()
    assert text.count("data:image/webp;base64,") == 1 and 'class="box predicted"' in text


def test_sections_count_every_question_once(run_folder):
    loaded = load_run(run_folder, Gold())
    outcomes = [one.outcome for one in loaded.run.scored]
    section = stage_section(outcomes)
    counted = sum(row.cells["count"].value for row in section.tables[0].rows)
    wrong = [o for o in outcomes if o.failed or o.correct is False]
    assert counted == len(wrong)
    chains = chain_section(outcomes).tables[0]
    assert sum(row.cells["strict"].value for row in chains.rows) == pytest.approx(1)
    cell = mean([("a", 1.0), ("a", 0.0), ("b", 1.0)])
    assert (cell.value, cell.n) == (pytest.approx(2 / 3), 3) and cell.low <= cell.value <= cell.high
    assert mean([]).value is None and mean([("a", 1.0)]).low is None
    said = {verdict(o) for o in outcomes}
    assert said == {"correct", "right to abstain", "wrong", "wrong to abstain", "failed"}


def test_nothing_of_a_text_can_end_a_script_element():
    written = script_json({"text": HOSTILE + "\u2029"})
    assert not re.search(r"[<>&\u2028\u2029]", written)
    assert json.loads(written)["text"] == HOSTILE + "\u2029"


def test_the_html_holds_no_foreign_tag_and_no_address_of_a_network(html):
    text = html.read_text(encoding="utf-8")
    assert "<script>window" not in text and "<img src=x" not in text
    found = re.findall(r'(?:src|href)="([^"]*)"', text)
    assert all(address.startswith(("data:", "#")) for address in found)
    assert text.count("<script>") == 1


def test_a_page_without_a_picture_says_so():
    data_ref = PageRef("d", 3)
    question = type("Q", (), {"id": "q", "question": "what", "documents": (Path("d.pdf"),)})()
    run = trajectory(question, "x", regions=[EvidenceRegion(data_ref, BBox(0, 0, 1, 1))])
    assert "no picture of this page" in page([Shown(run)], "t")


def test_plots_escape_names_and_are_always_the_same():
    cells = [Cell(10.0, 3, 5.0, 20.0), Cell(None, 0)]
    first = bar_plot("b", "alt", [HOSTILE, "$x$ 日本"], cells, ylabel="%")
    assert "<script" not in first.svg and "&lt;script" in first.svg and "$x$" in first.svg
    assert first == bar_plot("b", "alt", [HOSTILE, "$x$ 日本"], cells, ylabel="%")
    lines = [Line("a", [Cell(1.0), None]), Line("b", [Cell(2.0), Cell(3.0, 5, 2.0, 4.0)])]
    assert line_plot("l", "alt", [1, 8], lines, labels=("x", "y")).svg.startswith("<svg")


def test_the_command_writes_markdown_with_plots_beside_it(run_folder, tmp_path, capsys):
    out, markdown = tmp_path / "r.html", tmp_path / "r.md"
    command = [
        str(run_folder),
        "--out",
        str(out),
        "--markdown",
        str(markdown),
        "--pictures",
        "none",
        "--quiet",
    ]
    assert main(command) == 0
    text = markdown.read_text()
    assert "## Stage of first failure" in text and "## Evidence chains" in text
    for name in re.findall(r"\]\((r_files/[^)]+\.svg)\)", text):
        assert (tmp_path / name).read_text().startswith("<svg")


def test_what_cannot_be_shown_is_said_in_one_line(tmp_path, data):
    for command in ([], [str(tmp_path), "--trajectory", "x"], [str(tmp_path / "none")]):
        with pytest.raises(InputError):
            main(command)
    (tmp_path / "broken.json").write_text("{}")
    with pytest.raises(InputError, match="no answer"):
        main(["--trajectory", str(tmp_path / "broken.json")])
