"""`python -m agent.ground`: anyone's facts, grounded line by line."""

import io
import json
import sys
import time

import numpy as np
import pytest

from agent.frames import FRAMES
from agent.ground import GivenFact, ground_facts, main, read_facts
from indexes.document import Document
from indexes.errors import InputError
from indexes.types import BBox


@pytest.fixture(scope="module")
def words(sample_pdf):
    """The words of a page of the sample, by page."""
    with Document.open(sample_pdf, quiet=True) as document:
        return {number: document.page(number) for number in (3, 8, 10, 12)}


def facts_file(tmp_path, *rows):
    file = tmp_path / "facts.jsonl"
    file.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))
    return file


def run(capsys, *arguments) -> str:
    assert main([str(a) for a in arguments] + ["--quiet"]) == 0
    return capsys.readouterr().out


def sentence(page, count=12):
    """A run of words in the middle of a page, and the box around it."""
    start = len(page.words) // 2
    return " ".join(page.words.texts[start : start + count]), page.words.bbox(start, start + count)


def test_rows_come_in_the_order_of_the_facts_with_the_agreed_fields(capsys, sample_pdf, words, tmp_path):
    (first, box), (second, _) = sentence(words[10]), sentence(words[3])
    file = facts_file(
        tmp_path,
        {"page": 10, "text": first},
        "",
        {"page": 3, "text": second, "more": "is left alone"},
        {"page": 10, "text": "zebras juggle quarks"},
    )
    rows = [json.loads(line) for line in run(capsys, sample_pdf, "--facts", file, "--json").splitlines()]
    assert [row["page"] for row in rows] == [10, 3, 10]
    assert list(rows[0]) == ["page", "regions", "support"] and rows[0]["support"] == "exact"
    x1, y1, x2, y2 = rows[0]["regions"][0]
    assert x1 <= box.x1 + 1e-3 and y1 <= box.y1 + 1e-3
    assert max(region[3] for region in rows[0]["regions"]) >= box.y2 - 1e-3
    assert rows[2]["regions"] == [] and rows[2]["support"] == "none"
    assert "nothing on the page says so" in rows[2]["notes"][0]
    for row in rows:
        for x1, y1, x2, y2 in row["regions"]:
            assert 0 <= x1 < x2 <= 1 and 0 <= y1 < y2 <= 1


def test_facts_come_from_standard_input_too(capsys, sample_pdf, words, monkeypatch, tmp_path):
    row = {"page": 10, "text": sentence(words[10])[0]}
    file = run(capsys, sample_pdf, "--facts", facts_file(tmp_path, row), "--json")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(row).encode())))
    assert run(capsys, sample_pdf, "--facts", "-", "--json") == file


def test_without_json_a_person_reads_it(capsys, sample_pdf, words, tmp_path):
    file = facts_file(tmp_path, {"page": 10, "text": sentence(words[10])[0]}, {"page": 10, "text": "zebras"})
    out = run(capsys, sample_pdf, "--facts", file)
    assert out.startswith("p. 10  exact  ") and "    [0." in out and "    note: " in out


def test_a_scan_is_grounded_in_its_ocr(sample_pdf, words):
    text, box = sentence(words[12], 6)
    (found,) = ground_facts(sample_pdf, [GivenFact(12, text)])
    assert words[12].ocr and found.support == "exact"
    assert any(region.bbox.intersection(box) > 0 for region in found.regions)


def test_the_library_takes_an_opened_document(sample_pdf, words):
    text, _ = sentence(words[10])
    with Document.open(sample_pdf, quiet=True) as document:
        opened = ground_facts(document, [GivenFact(10, text)])
        assert [item.regions for item in opened] == [
            item.regions for item in ground_facts(sample_pdf, [GivenFact(10, text)])
        ]
        with pytest.raises(InputError, match="fact 1: page 99: sample has 15 pages"):
            ground_facts(document, [GivenFact(99, text)])


@pytest.mark.parametrize("frame", FRAMES)
def test_a_box_is_taken_in_every_frame_and_snapped_to_its_words(capsys, sample_pdf, words, tmp_path, frame):
    _, box = sentence(words[10], 4)
    width, height = 1000, 1400
    x1, y1, x2, y2 = box.x1 - 0.002, box.y1 - 0.002, box.x2 + 0.002, box.y2 + 0.002
    values = {
        "qwen2.5-vl": [x1 * width, y1 * height, x2 * width, y2 * height],
        "pixels": [x1 * width, y1 * height, x2 * width, y2 * height],
        "thousand": [x1 * 1000, y1 * 1000, x2 * 1000, y2 * 1000],
        "thousand-yx": [y1 * 1000, x1 * 1000, y2 * 1000, x2 * 1000],
        "normalized": [x1, y1, x2, y2],
    }[frame]
    row = {"page": 10, "text": "It is so", "bbox": values, "image_size": [width, height]}
    out = run(capsys, sample_pdf, "--facts", facts_file(tmp_path, row), "--json", "--frame", frame)
    (region,) = json.loads(out)["regions"]
    found = BBox(*region)
    assert found.intersection(box) > 0.95 * box.area and found.area < 1.6 * box.area


def test_a_box_beside_the_page_is_noted_and_the_text_still_found(capsys, sample_pdf, words, tmp_path):
    row = {"page": 10, "text": sentence(words[10])[0], "bbox": [1.2, 1.2, 1.4, 1.4]}
    out = json.loads(run(capsys, sample_pdf, "--facts", facts_file(tmp_path, row), "--json"))
    assert out["support"] == "exact" and out["regions"]
    assert "nothing of its box" in out["notes"][0]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("x", "line 2: no JSON"),
        ("[" * 100_000, "line 2: no JSON"),
        ("[1]", "line 2: expected an object with page and text, got list"),
        ('{"text": "a"}', "line 2: page None: expected a whole number from 1"),
        ('{"page": 0, "text": "a"}', "line 2: page 0: expected"),
        ('{"page": true, "text": "a"}', "line 2: page True: expected"),
        ('{"page": 2.0, "text": "a"}', "line 2: page 2.0: expected"),
        ('{"page": 16, "text": "a"}', "line 2: page 16: sample has 15 pages"),
        ('{"page": 1}', "line 2: text None: expected"),
        ('{"page": 1, "text": " \\u0000 "}', "line 2: text "),
        ('{"page": 1, "text": ["a"]}', "line 2: text "),
        ('{"page": 1, "text": "a", "quote": 3}', "line 2: quote 3: expected a text"),
        ('{"page": 1, "text": "a", "blocks": 3}', "line 2: blocks 3: expected a list"),
        ('{"page": 1, "text": "a", "blocks": [1.5]}', "line 2: blocks "),
        ('{"page": 1, "text": "a", "bbox": [1, 2, 3]}', "line 2: box .* expected four numbers, got 3"),
        ('{"page": 1, "text": "a", "bbox": [1, 2, 3, NaN]}', "line 2: box .* not finite"),
        ('{"page": 1, "text": "a", "bbox": "1,2,3,4"}', "line 2: box "),
    ],
)
def test_a_line_that_is_no_fact_is_named_before_anything_is_written(capsys, sample_pdf, tmp_path, line, said):
    file = facts_file(tmp_path, {"page": 1, "text": "fine"}, line)
    with pytest.raises(InputError, match=said) as error:
        main([str(sample_pdf), "--facts", str(file), "--json", "--quiet"])
    assert "\n" not in str(error.value) and len(str(error.value)) < 400
    assert capsys.readouterr().out == ""


def test_a_box_in_pixels_needs_the_images_size(tmp_path):
    file = facts_file(tmp_path, {"page": 1, "text": "a", "bbox": [1, 2, 3, 4]})
    with pytest.raises(InputError, match="image_size None: a box in pixels needs"):
        read_facts(str(file), "pixels")
    file = facts_file(tmp_path, {"page": 1, "text": "a", "bbox": [1, 2, 3, 4], "image_size": [0, 9]})
    with pytest.raises(InputError, match="line 1: image of 0.0 x 9.0 pixels"):
        read_facts(str(file), "pixels")


def test_a_file_that_is_not_there_empty_or_no_text_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_facts(str(tmp_path / "none.jsonl"))
    (tmp_path / "empty").write_bytes(b"\xef\xbb\xbf\n \n")
    with pytest.raises(InputError, match="no fact in it"):
        read_facts(str(tmp_path / "empty"))
    (tmp_path / "latin").write_bytes(b'{"page": 1, "text": "caf\xe9"}\n')
    with pytest.raises(InputError, match="line 1: byte 24 is no UTF-8"):
        read_facts(str(tmp_path / "latin"))


def test_gold_regions_are_covered_by_boxes_of_their_size(shared_data):
    from eval.benchmarks import load

    questions = load("docscope", shared_data / "docscope_style", pdfs=shared_data / "financebench" / "pdfs")
    smallest = min((q.documents[0] for q in questions), key=lambda path: path.stat().st_size)
    for question in (q for q in questions if q.documents[0] == smallest):
        texts = {fact.region: fact.text for fact in question.gold_facts}
        regions = [region for region in question.gold_regions if region.id in texts]
        given = [GivenFact(region.ref.page, texts[region.id]) for region in regions]
        for region, found in zip(regions, ground_facts(question.documents[0], given), strict=True):
            gold = painted([region.bbox])
            predicted = painted([item.bbox for item in found.regions])
            assert (gold & predicted).sum() >= 0.9 * gold.sum()
            assert predicted.sum() <= 1.5 * gold.sum()


def painted(boxes):
    """Boxes as a grid of 2000 by 2000 points: which lie in one of them."""
    points = (np.arange(2000) + 0.5) / 2000
    grid = np.zeros((2000, 2000), bool)
    for box in boxes:
        rows, columns = (box.y1 <= points) & (points <= box.y2), (box.x1 <= points) & (points <= box.x2)
        grid |= rows[:, None] & columns[None]
    return grid


def test_a_text_of_a_megabyte_is_done_in_seconds(capsys, sample_pdf, tmp_path):
    rows = [{"page": 3, "text": "x" * 1_000_000}, {"page": 3, "text": "ab " * 300_000}]
    start = time.process_time()
    lines = run(capsys, sample_pdf, "--facts", facts_file(tmp_path, *rows), "--json").splitlines()
    assert [json.loads(line)["support"] for line in lines] == ["none", "none"]
    assert time.process_time() - start < 20


def test_an_image_size_that_no_number_holds_is_refused(tmp_path):
    row = {"page": 1, "text": "a", "bbox": [1, 2, 3, 4], "image_size": [10**400, 9]}
    with pytest.raises(InputError, match="image_size"):
        read_facts(str(facts_file(tmp_path, row)), "pixels")
