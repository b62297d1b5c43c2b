"""What cannot be opened ends in one line that names the thing and the way out."""

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from indexes import cache
from indexes.document import Document
from indexes.errors import InputError
from indexes.source import mupdf
from tests.indexes.make_pdfs import TEXT, new_pdf, save, text_pdf


@pytest.fixture(autouse=True)
def fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("PAGETRAIL_CACHE", str(tmp_path / "cache"))
    yield tmp_path / "cache"


def _refusal(path: Path | str, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        Document.open(path, **options)
    message = str(caught.value)
    assert "\n" not in message and Path(path).name in message
    return message


def test_a_missing_file(tmp_path: Path) -> None:
    assert "no such file or folder" in _refusal(tmp_path / "none.pdf")


def test_a_name_that_no_file_can_have(tmp_path: Path) -> None:
    assert "cannot be read" in _refusal(str(tmp_path / "a") + "x" * 300)


def test_a_link_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "circle.pdf").symlink_to("circle.pdf")
    assert "cannot be read" in _refusal(tmp_path / "circle.pdf")


def test_the_home_of_nobody() -> None:
    assert "cannot be read" in _refusal("~no-such-user/report.pdf")


def test_an_empty_name_is_not_the_folder_one_is_in() -> None:
    with pytest.raises(InputError, match="has no name"):
        Document.open("")


def test_a_folder_without_images(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "PNG or JPEG" in _refusal(tmp_path / "empty")


def test_a_folder_with_a_pdf_where_the_pdf_was_meant(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    text_pdf(tmp_path / "folder" / "report.pdf", ["x"])
    assert "name the PDF in it (report.pdf)" in _refusal(tmp_path / "folder")


def test_a_text_file_named_pdf(tmp_path: Path) -> None:
    (tmp_path / "text.pdf").write_text("Dear Sir or Madam")
    assert "no PDF" in _refusal(tmp_path / "text.pdf")


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "empty.pdf").touch()
    assert "empty file" in _refusal(tmp_path / "empty.pdf")


def test_a_pdf_cut_off_after_its_head(tmp_path: Path) -> None:
    (tmp_path / "cut.pdf").write_bytes(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< /Type /Cat")
    message = _refusal(tmp_path / "cut.pdf")
    assert "broken PDF" in message or "without pages" in message


def test_a_pdf_cut_off_in_the_middle_gives_the_pages_that_are_left(tmp_path: Path) -> None:
    whole = text_pdf(tmp_path / "whole.pdf", [f"page {n} " + TEXT * 20 for n in range(1, 13)]).read_bytes()
    cut = tmp_path / "cut.pdf"
    cut.write_bytes(whole[: len(whole) * 3 // 4])
    try:
        with Document.open(cut) as opened:
            assert "damaged" in opened.warning
            texts = [page.text for page in opened.pages()]
    except InputError as error:
        assert "cut.pdf" in str(error) and ("broken PDF" in str(error) or "without pages" in str(error))
    else:
        assert any(text.startswith("page") for text in texts)


def test_zero_pages(tmp_path: Path) -> None:
    (tmp_path / "zero.pdf").write_bytes(
        b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n"
        b"2 0 obj\n<< /Type /Pages /Kids [] /Count 0 >>\nendobj\n"
        b"trailer\n<< /Root 1 0 R >>\n%%EOF\n"
    )
    assert "without pages" in _refusal(tmp_path / "zero.pdf")


def test_an_encrypted_pdf_wants_its_password_also_when_it_is_cached(tmp_path: Path) -> None:
    doc = new_pdf()
    doc.new_page().insert_text((72, 72), "secret", fontsize=12)
    path = save(
        doc,
        tmp_path / "locked.pdf",
        encryption=mupdf().PDF_ENCRYPT_AES_256,
        user_pw="open",
        owner_pw="own",
    )
    assert "--password" in _refusal(path)
    assert "wrong" in _refusal(path, password="no")
    with Document.open(path, password="open") as opened:
        assert opened.page(1).text == "secret"
    assert "--password" in _refusal(path)
    assert "wrong" in _refusal(path, password="no")


def test_a_password_that_is_not_needed_does_no_harm(tmp_path: Path) -> None:
    with Document.open(text_pdf(tmp_path / "free.pdf", ["free"]), password="any") as opened:
        assert opened.page(1).text == "free"


def test_a_cache_folder_that_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = text_pdf(tmp_path / "doc.pdf", ["one"])
    (tmp_path / "file").write_text("no folder")
    for where in ("file", "file/below"):
        monkeypatch.setenv("PAGETRAIL_CACHE", str(tmp_path / where))
        with pytest.raises(InputError, match="cache folder .*PAGETRAIL_CACHE"):
            Document.open(path)


def test_a_cache_folder_in_a_place_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGETRAIL_CACHE", "/proc/pagetrail")
    with pytest.raises(InputError, match="cache folder /proc/pagetrail"):
        Document.open(text_pdf(tmp_path / "doc.pdf", ["one"]))


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = text_pdf(tmp_path / "doc.pdf", ["one"])
    with Document.open(path):
        pass

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with Document.open(path) as opened:
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(InputError, match="no space left"):
                opened.page(1)
        pages = tmp_path / "cache" / "pages"
        assert [file for file in pages.rglob("*") if file.is_file() and file.suffix != ".lock"] == []
        assert opened.page(1).text == "one"


@pytest.mark.parametrize("name", ["pages-00000.npz", "meta.json"])
@pytest.mark.parametrize("damage", [lambda data: b"damaged", lambda data: data[:-9] + b"x" + data[-8:]])
def test_damaged_pages_in_the_cache_are_read_again(
    tmp_path: Path, name: str, damage: Callable[[bytes], bytes]
) -> None:
    path = text_pdf(tmp_path / "doc.pdf", ["one"])
    with Document.open(path) as opened:
        assert opened.page(1).text == "one"
    (entry,) = (tmp_path / "cache" / "pages").rglob(name)
    whole = entry.read_bytes()
    entry.write_bytes(damage(whole))
    with Document.open(path) as opened:
        assert opened.page(1).text == "one"
    assert entry.read_bytes() == whole


def test_a_page_that_is_gone_while_the_document_is_open_is_named(tmp_path: Path) -> None:
    path = text_pdf(tmp_path / "doc.pdf", ["one"])
    with Document.open(path) as opened:
        assert opened.labels == (None,)
        (entry,) = (tmp_path / "cache" / "pages").rglob("pages-*.npz")
        entry.unlink()
        with pytest.raises(InputError, match="damaged or gone; remove"):
            opened.page(1)


def test_an_atomic_write_that_fails_keeps_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "entry"
    cache.write_atomic(file, b"old")

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="no space left"):
        cache.write_atomic(file, b"new")
    assert file.read_bytes() == b"old" and list(tmp_path.glob(".entry*")) == []


def test_a_cache_folder_in_the_home_of_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGETRAIL_CACHE", "~no-such-user/cache")
    with pytest.raises(InputError, match="set PAGETRAIL_CACHE"):
        Document.open(text_pdf(tmp_path / "a.pdf", ["x"]))
