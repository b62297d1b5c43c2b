"""A corpus on disk: names, one line for what is broken, nothing done twice, nothing lost by a kill."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from indexes.build import main as build
from indexes.corpus import DOCUMENTS, MANIFEST, Corpus, joined_index
from indexes.documents import named_documents, open_documents
from indexes.errors import InputError
from tests.indexes.make_pdfs import TEXT, new_pdf, save, text_pdf

HARBOUR = ["The harbour was built in 1902 of granite.", "Its cranes lift forty tons."]
TIDE = ["Turbines turn with the tide.", "Maintenance costs six million euros a year.", "The board has five."]


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> None:
    import torch

    torch.set_num_threads(1)


def make_tree(folder: Path) -> Path:
    """Two documents of the same stem, one of them twice, below one another."""
    (folder / "2022").mkdir(parents=True)
    (folder / "2023" / "annex").mkdir(parents=True)
    text_pdf(folder / "2022" / "report.pdf", HARBOUR)
    text_pdf(folder / "2023" / "report.pdf", TIDE)
    shutil.copy(folder / "2022" / "report.pdf", folder / "2023" / "annex" / "again.pdf")
    return folder


def manifest_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    return found


def contents(folder: Path) -> dict[str, bytes]:
    """Every file and folder of a corpus, also empty and hidden ones."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else b""
        for path in sorted(folder.rglob("*"))
    }


def ids(*paths: Path, known: dict[Path, str] | None = None) -> list[str]:
    return [named.doc_id for named in named_documents(paths, known)]


def touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def test_documents_in_a_folder_are_called_by_their_path_in_it(tmp_path: Path) -> None:
    for name in ("b/report.pdf", "a/x/report.pdf", "report.pdf", "a/scan/1.png"):
        touch(tmp_path / name)
    assert ids(tmp_path) == ["report", "a/scan", "a/x/report", "b/report"]


def test_documents_of_the_same_name_get_as_many_folders_before_it_as_tell_them_apart(tmp_path: Path) -> None:
    first, second = touch(tmp_path / "x" / "m" / "report.pdf"), touch(tmp_path / "y" / "m" / "report.pdf")
    assert ids(first, second) == ["x/m/report", "y/m/report"]
    assert ids(tmp_path / "x", tmp_path / "y") == ["x/m/report", "y/m/report"]
    assert ids(first, touch(tmp_path / "other.pdf")) == ["report", "other"]


def test_a_pdf_and_a_folder_of_images_of_the_same_name_differ(tmp_path: Path) -> None:
    touch(tmp_path / "report.pdf")
    touch(tmp_path / "report" / "1.png")
    assert ids(tmp_path) == ["report.pdf", f"{tmp_path.name}/report"]


def test_a_document_named_twice_is_one(tmp_path: Path) -> None:
    path = touch(tmp_path / "a" / "report.pdf")
    assert ids(path, tmp_path / "a", tmp_path / "a" / ".." / "a" / "report.pdf") == ["report"]


def test_what_has_a_name_keeps_it_and_no_other_gets_it(tmp_path: Path) -> None:
    old, new = touch(tmp_path / "a" / "report.pdf"), touch(tmp_path / "b" / "report.pdf")
    assert ids(new, known={old: "report"}) == ["report.pdf"]
    assert ids(old, new, known={old: "mine"}) == ["mine", "b/report"]


def test_images_beside_pdfs_and_hidden_files_are_no_documents(tmp_path: Path) -> None:
    for name in ("report.pdf", "cover.png", ".hidden.pdf", ".git/x.pdf"):
        touch(tmp_path / name)
    assert ids(tmp_path) == ["report"]


def test_documents_of_one_content_are_opened_once(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree")
    with open_documents([tree]) as documents:
        assert [document.doc_id for document in documents] == ["2022/report", "2023/report"]
        assert documents[1].page(2).ref.doc_id == "2023/report"


def test_a_corpus_is_built_and_built_again_in_no_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree, out = make_tree(tmp_path / "tree"), tmp_path / "corpus"
    assert build([str(tree), "--out", str(out), "--quiet"]) == 0
    first = capsys.readouterr()
    assert first.err == ""
    assert first.out.splitlines()[0].startswith("2022/report (the same: again.pdf): 2 pages, ")
    manifest = manifest_of(out)
    assert manifest["encoder"]["encoder"] == "minilm"
    assert manifest["options"] == {"encoder": "minilm"}
    documents = manifest["documents"]
    assert [(d["doc_id"], d["source"], d["pages"]) for d in documents] == [
        ("2022/report", "../tree/2022/report.pdf", 2),
        ("2023/report", "../tree/2023/report.pdf", 3),
    ]
    assert documents[0]["copies"] == ["../tree/2023/annex/again.pdf"]
    assert all((out / d["folder"] / "manifest.json").is_file() for d in documents)
    before = contents(out)
    assert build([str(tree), "--out", str(out), "--quiet"]) == 0
    assert all(line.endswith("indexed already") for line in capsys.readouterr().out.splitlines())
    assert contents(out) == before


def test_broken_documents_are_a_line_each_at_the_end_and_the_others_are_built(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree, out = make_tree(tmp_path / "tree"), tmp_path / "corpus"
    (tree / "empty.pdf").touch()
    (tree / "text.pdf").write_text("no PDF")
    (tree / "cut.pdf").write_bytes((tree / "2022" / "report.pdf").read_bytes()[:60])
    doc = new_pdf()
    doc.new_page().insert_text((72, 72), TEXT)
    save(doc, tree / "locked.pdf", encryption=5, user_pw="secret", owner_pw="owner")
    assert build([str(tree), "--out", str(out), "--quiet"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in lines[:-1]] == ["error"] * 4
    names = ("cut.pdf: a", "empty.pdf: an empty file", "locked.pdf: encrypted", "text.pdf: no PDF")
    assert all(name in line for name, line in zip(names, lines, strict=False)), lines
    assert lines[-1] == "4 of 7 documents could not be indexed"
    assert [d["doc_id"] for d in manifest_of(out)["documents"]] == ["2022/report", "2023/report"]


def test_other_settings_or_another_encoder_are_refused_with_the_reason(tmp_path: Path) -> None:
    tree, out = make_tree(tmp_path / "tree"), tmp_path / "corpus"
    build([str(tree), "--out", str(out), "--quiet"])
    before = contents(out)
    with pytest.raises(InputError, match="was built with ocr True, not False; name another folder"):
        build([str(tree), "--out", str(out), "--quiet", "--no-ocr"])
    about = manifest_of(out)
    about["encoder"] = {"encoder": "colqwen", "revision": "x"}
    with pytest.raises(InputError, match="was built with encoder 'minilm', not 'colqwen'"):
        Corpus.open_or_make(out, about)
    assert contents(out) == before


def test_documents_are_added_changed_and_moved(tmp_path: Path) -> None:
    tree, out = make_tree(tmp_path / "tree"), tmp_path / "corpus"
    build([str(tree / "2022"), "--out", str(out), "--quiet"])
    (first,) = manifest_of(out)["documents"]
    assert first["doc_id"] == "report"
    build([str(tree / "2023"), "--out", str(out), "--quiet"])  # its report.pdf is another one
    assert [(d["doc_id"], d["pages"]) for d in manifest_of(out)["documents"]] == [
        ("report", 2),
        ("report.pdf", 3),
    ]
    text_pdf(tree / "2022" / "report.pdf", ["All of it is new."])
    build([str(tree / "2022"), "--out", str(out), "--quiet"])
    changed = {d["doc_id"]: d for d in manifest_of(out)["documents"]}
    assert changed["report"]["pages"] == 1
    (tree / "2023" / "report.pdf").rename(tree / "tide.pdf")
    build([str(tree / "tide.pdf"), "--out", str(out), "--quiet"])
    moved = {d["doc_id"]: d for d in manifest_of(out)["documents"]}
    assert moved["report.pdf"]["source"] == "../tree/tide.pdf"
    folders = {d["folder"] for d in moved.values()}
    assert {f"{DOCUMENTS}/{f.name}" for f in (out / DOCUMENTS).iterdir() if f.is_dir()} == folders


def test_a_folder_that_holds_other_things_is_no_place_for_a_corpus(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree")
    with pytest.raises(InputError, match="is there already and no corpus"):
        build([str(tree), "--out", str(tree), "--quiet"])
    with pytest.raises(InputError, match="--out is empty"):
        build([str(tree), "--out", " ", "--quiet"])


def test_a_damaged_manifest_is_named_and_the_indexes_beside_it_are_used_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree, out = make_tree(tmp_path / "tree"), tmp_path / "corpus"
    build([str(tree), "--out", str(out), "--quiet"])
    before = contents(out)
    (out / MANIFEST).write_text("{")
    with pytest.raises(InputError, match=r"corpus\.json: damaged; delete it"):
        build([str(tree), "--out", str(out), "--quiet"])
    (out / MANIFEST).unlink()
    capsys.readouterr()
    build([str(tree), "--out", str(out), "--quiet"])
    assert "indexed already" in capsys.readouterr().out
    assert contents(out) == before


@pytest.mark.parametrize("name", ["vectors.faiss", "vectors_boxes.npy", "manifest.json"])
@pytest.mark.parametrize("cut", [False, True])
def test_building_again_makes_a_damaged_index_anew_and_leaves_the_others(
    tmp_path: Path, name: str, cut: bool
) -> None:
    tree, out = make_tree(tmp_path / "tree"), tmp_path / "corpus"
    build([str(tree), "--out", str(out), "--quiet"])
    before = contents(out)
    path = sorted(out.glob(f"{DOCUMENTS}/*/{name}"))[0]
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.unlink()
    path.write_bytes(data[: len(data) // 2] if cut else data)
    kept = {file: file.stat().st_mtime_ns for file in out.rglob(name) if file != path}
    build([str(tree), "--out", str(out), "--quiet"])
    assert contents(out) == before
    assert {file: file.stat().st_mtime_ns for file in kept} == kept


def test_a_killed_build_started_again_equals_an_undisturbed_one(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree")
    text_pdf(tree / "long.pdf", [f"Page {number}. {TEXT * 8}" for number in range(40)])
    arguments = [str(tree), "--no-ocr", "--quiet", "--out"]
    build([*arguments, str(tmp_path / "plain")])
    killed = tmp_path / "killed"
    command = [sys.executable, "-m", "indexes.build", *arguments, str(killed)]
    seen = 0
    for wanted in (1, 2):  # parts of the long document that are there when it is killed
        process = subprocess.Popen(command, env=dict(os.environ), stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            if len(list(killed.glob(f"{DOCUMENTS}/*.parts/0*.npz"))) >= wanted:
                process.send_signal(signal.SIGKILL)
                break
            time.sleep(0.005)
        seen += process.wait() == -signal.SIGKILL
    assert seen == 2
    assert contents(killed) != contents(tmp_path / "plain")
    assert build([*arguments, str(killed)]) == 0
    assert contents(killed) == contents(tmp_path / "plain")


def small_corpus(folder: Path) -> Path:
    """A corpus of two documents of one page each."""
    for name, lines in (("harbour", HARBOUR), ("tide", TIDE)):
        (folder / "in").mkdir(exist_ok=True)
        text_pdf(folder / "in" / f"{name}.pdf", lines[:1])
    assert build([str(folder / "in"), "--out", str(folder / "corpus"), "--quiet"]) == 0
    return folder / "corpus"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("folder", "../../precious"),
        ("folder", "documents/.."),
        ("folder", "documents"),
        ("folder", "/tmp"),
        ("folder", 5),
        ("pages", 0),
        ("pages", "1"),
        ("pages", 10**30),
        ("doc_id", None),
        ("doc_id", "tide"),
        ("source", "a\0b"),
        ("copies", [1]),
    ],
)
def test_a_manifest_whose_documents_cannot_be_is_refused_and_nothing_outside_is_touched(
    tmp_path: Path, name: str, value: Any
) -> None:
    corpus = small_corpus(tmp_path)
    (tmp_path / "precious").mkdir()
    manifest = manifest_of(corpus)
    manifest["documents"][0][name] = value
    (corpus / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    text_pdf(tmp_path / "in" / "harbour.pdf", HARBOUR)  # its old index would be removed
    with pytest.raises(InputError, match="damaged"):
        build([str(tmp_path / "in"), "--out", str(corpus), "--quiet"])
    assert (tmp_path / "precious").is_dir()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("encoder", {}),
        ("encoder", "minilm"),
        ("settings", None),
        ("settings", {}),
        ("options", {}),
        ("options", {"encoder": 5}),
        ("options", {"encoder": "minilm", "code": "x"}),
        ("options", {"encoder": "colqwen", "model": {"folder": 5}}),
    ],
)
def test_a_manifest_whose_head_cannot_be_is_refused(tmp_path: Path, name: str, value: Any) -> None:
    corpus = small_corpus(tmp_path)
    manifest = manifest_of(corpus)
    (corpus / MANIFEST).write_text(json.dumps({**manifest, name: value}), encoding="utf-8")
    with pytest.raises(InputError, match="damaged"):
        Corpus.open(corpus)


def test_indexes_that_changed_places_are_noticed(tmp_path: Path) -> None:
    corpus = small_corpus(tmp_path)
    first, second = (corpus / document.folder for document in Corpus.open(corpus).documents.values())
    shutil.copytree(first, second, dirs_exist_ok=True)
    with pytest.raises(InputError, match="document is"):
        joined_index(Corpus.open(corpus))


@pytest.mark.parametrize(
    "offsets",
    [[0, 10**9], [0, -4], [5, 4], [0], [[0, 4]], [0.5, 4.5]],
)
def test_offsets_that_do_not_divide_the_vectors_are_noticed(tmp_path: Path, offsets: Any) -> None:
    corpus = small_corpus(tmp_path)
    folder = corpus / next(iter(Corpus.open(corpus).documents.values())).folder
    np.save(folder / "vectors_offsets.npy", np.array(offsets))
    told = json.loads((folder / "manifest.json").read_text())
    told["files"]["vectors_offsets.npy"]["bytes"] = (folder / "vectors_offsets.npy").stat().st_size
    (folder / "manifest.json").write_text(json.dumps(told))
    with pytest.raises(InputError, match="offsets"):
        joined_index(Corpus.open(corpus))


def test_a_file_of_the_right_size_that_is_no_index_is_noticed(tmp_path: Path) -> None:
    corpus = small_corpus(tmp_path)
    path = corpus / next(iter(Corpus.open(corpus).documents.values())).folder / "vectors.faiss"
    path.write_bytes(b"x" * path.stat().st_size)
    with pytest.raises(InputError, match="vectors cannot be read"):
        joined_index(Corpus.open(corpus))


@pytest.mark.parametrize("name", ["", "~nobody-of-this-name/reports"])
def test_a_name_that_says_nothing_is_not_the_folder_one_is_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    text_pdf(tmp_path / "here.pdf", HARBOUR)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="no name|no such home"):
        build([name, "--quiet"])
    with pytest.raises(InputError, match="no name|no such home"), open_documents(["here.pdf", name]):
        pass


@pytest.mark.parametrize("name", [" ", "~nobody-of-this-name/corpus", "x" * 300])
def test_a_folder_that_cannot_be_is_refused_before_any_work(tmp_path: Path, name: str) -> None:
    text_pdf(tmp_path / "here.pdf", HARBOUR)
    with pytest.raises(InputError, match="--out"):
        build([str(tmp_path / "here.pdf"), "--out", name, "--quiet"])
