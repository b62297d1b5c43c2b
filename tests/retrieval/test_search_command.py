"""`python -m retrieval.search` on the sample document, and on everything that can be wrong."""

import json
import subprocess
import sys

import pytest

from indexes.errors import InputError
from retrieval.search import main, read_queries


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    import torch

    torch.set_num_threads(1)


def run(capsys, *arguments):
    assert main([str(a) for a in arguments]) == 0
    return capsys.readouterr()


def test_json_lines_have_exactly_the_agreed_fields(capsys, sample_pdf, tmp_path):
    queries = tmp_path / "queries.txt"
    queries.write_text("Who chairs the board?\n\nWhen was the export cable inspected?\n", encoding="utf-8")
    out = run(capsys, sample_pdf, "--queries", queries, "--json", "--quiet", "-k", 3)
    rows = [json.loads(line) for line in out.out.splitlines()]
    assert out.err == ""
    assert [row["query"] for row in rows] == ["Who chairs the board?", "When was the export cable inspected?"]
    for row in rows:
        assert list(row) == ["query", "pages"]
        assert len(row["pages"]) == 3
        for page in row["pages"]:
            assert list(page) == ["doc", "page", "label", "score", "regions", "region_scores"]
            assert page["doc"] == "sample"
            assert len(page["regions"]) <= 3
            assert len(page["region_scores"]) == len(page["regions"])
            for x1, y1, x2, y2 in page["regions"]:
                assert 0 <= x1 < x2 <= 1
                assert 0 <= y1 < y2 <= 1
    assert rows[1]["pages"][0]["page"] == 12  # the scan
    assert rows[1]["pages"][0]["label"] == "9"


@pytest.mark.parametrize(
    ("query", "page"),
    [
        ("What was the operating profit in 2024?", 10),
        ("What is on page 5?", 8),
        ("Where does Table 3 begin?", 14),
        ("slide 15", 15),
        ("What does slack water mean?", 15),
        ("how much of the output is sold at the day-ahead price", 11),
    ],
)
def test_the_right_page_comes_first(capsys, sample_pdf, query, page):
    out = run(capsys, sample_pdf, query, "--json", "--quiet", "-k", 1)
    assert json.loads(out.out)["pages"][0]["page"] == page


def test_a_person_sees_page_label_score_reason_and_words(capsys, sample_pdf):
    out = run(capsys, sample_pdf, "Table 1", "-k", 2, "--quiet").out
    first = out.splitlines()[1]
    assert first.startswith("  1. p. 4 (label 1)  score ")
    assert "lookup: Table 1" in first
    assert "Table 1: Key figures" in out


def test_k_beyond_the_document_gives_all_its_pages(capsys, sample_pdf):
    out = run(capsys, sample_pdf, "the of and", "--json", "--quiet", "-k", 1000)
    assert sorted(page["page"] for page in json.loads(out.out)["pages"]) == list(range(1, 16))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.pdf", "x"], "missing.pdf"),
        (["SAMPLE", ""], "empty"),
        (["SAMPLE", "  \n"], "empty"),
        (["SAMPLE", "x" * 5000], "5000 characters"),
        (["SAMPLE", "x", "-k", "0"], "-k 0"),
        (["SAMPLE", "x", "-k", "-3"], "-k -3"),
        (["SAMPLE", "x", "-k", "many"], "many"),
        (["SAMPLE"], "no query"),
        (["SAMPLE", "--queries", "missing.txt"], "missing.txt"),
        (["SAMPLE", "x", "--encoder", "minilmm"], "did you mean 'minilm'"),
        (["SAMPLE", "x", "--colour"], "--colour"),
        ([], "document"),
    ],
)
def test_bad_arguments_are_one_line(sample_pdf, arguments, message):
    with pytest.raises(InputError, match=message) as caught:
        main([str(sample_pdf) if a == "SAMPLE" else a for a in arguments])
    assert "\n" not in str(caught.value)


def test_a_queries_file_that_cannot_be_read_is_named(tmp_path):
    binary, empty = tmp_path / "binary.txt", tmp_path / "empty.txt"
    binary.write_bytes(b"net \xff\xfe revenue")
    empty.write_text("\n \n")
    for path, message in ((binary, "UTF-8"), (empty, "no query"), (tmp_path, "cannot be read")):
        with pytest.raises(InputError, match=message) as caught:
            read_queries(path)
        assert str(path) in str(caught.value)


def test_a_queries_file_with_a_mark_and_windows_line_ends_is_read(tmp_path):
    path = tmp_path / "queries.txt"
    path.write_bytes(b"\xef\xbb\xbffirst\r\nsecond\r\n")
    assert read_queries(path) == ["first", "second"]


def test_the_process_ends_with_2_and_one_line_on_stderr_only(tmp_path):
    command = [sys.executable, "-m", "retrieval.search", str(tmp_path / "none.pdf"), "x", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1


def test_help_explains_by_example_and_loads_nothing_heavy():
    code = (
        "import sys\nfrom retrieval.search import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'torch', 'transformers', 'faiss', 'pymupdf', 'bm25s', 'onnxruntime'} & set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "python -m retrieval.search report.pdf" in done.stdout
