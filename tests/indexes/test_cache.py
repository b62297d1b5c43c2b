"""The cache's own promises: atomic, safe between processes, no clash of keys."""

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from indexes import cache, raw
from indexes.page_store import PageStore, batch_name, dump_pages, load_pages
from indexes.types import BBox, LayoutBlock, Page, PageRef, TableCell, Words

REPOSITORY = Path(__file__).resolve().parents[2]


def test_digests_of_parts_do_not_run_into_each_other() -> None:
    assert cache.digest("a", "bc") != cache.digest("ab", "c") != cache.digest("abc")
    assert cache.digest("a", 1) == cache.digest("a", "1")


def test_the_cache_lies_where_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGETRAIL_CACHE", str(tmp_path / "deep" / "cache"))
    assert cache.cache_root() == tmp_path / "deep" / "cache"
    assert cache.entry("pages", "abcdef") == tmp_path / "deep" / "cache" / "pages" / "ab" / "abcdef"


def test_a_place_outside_the_cache_is_no_matter_of_the_cache_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGETRAIL_CACHE", str(tmp_path / "cache"))
    for path, said in ((tmp_path / "cache" / "x", "set PAGETRAIL_CACHE"), (tmp_path / "out", "name a place")):
        for number in (errno.EISDIR, errno.ENOSPC):
            assert said in str(cache.write_error(path, OSError(number, "no")))


def test_the_second_to_publish_a_folder_gives_way(tmp_path: Path) -> None:
    final = tmp_path / "entry"
    for text in ("first", "second"):
        with cache.scratch_dir(final) as folder:
            (folder / "file").write_text(text)
            cache.publish_dir(folder, final)
    assert (final / "file").read_text() == "first"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["entry"]


def test_a_scratch_folder_that_is_not_published_goes(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), cache.scratch_dir(tmp_path / "entry") as folder:
        (folder / "file").write_text("half")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


HOLD = """
import sys, time
from pathlib import Path
from indexes.cache import lock
with lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_lock_is_free_again_when_its_holder_is_killed(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "entry")],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None and holder.stdout.readline() == "held\n"
    holder.kill()
    holder.communicate()
    start = time.monotonic()
    with cache.lock(tmp_path / "entry"):
        assert time.monotonic() - start < 30


def _pages() -> list[Page]:
    boxes = np.asarray([[0.1, 0.1, 0.2, 0.12], [0.5, 0.1, 0.7, 0.12], [0.1, 0.2, 0.9, 1.0]], np.float32)
    words = Words(["Größe", "12 %".replace(" ", "\u2009"), "終"], boxes, np.asarray([0, 0, 1], np.int32))
    cell = TableCell(0, 1, words.texts[1], BBox(0.5, 0.1, 0.7, 0.12), 1, 2, True, 2)
    blocks = (
        LayoutBlock("table", BBox(0.1, 0.1, 0.7, 0.12), " ".join(words.texts[:2]), 0, 0, 2, (cell,)),
        LayoutBlock("caption", BBox(0.1, 0.2, 0.9, 1.0), "終", 1, 2, 3, (), 0),
    )
    empty = Words([], np.zeros((0, 4), np.float32), np.zeros(0, np.int32))
    return [
        Page(PageRef("d", 1), "iv", (595.3, 841.9), words, blocks, True),
        Page(PageRef("d", 2), None, (612.0, 792.0), empty),
    ]


def test_pages_come_back_as_they_were_written() -> None:
    before = _pages()
    after = load_pages(dump_pages(before), "d", ["iv", None])
    for a, b in zip(before, after, strict=True):
        assert (a.ref, a.label, a.size, a.ocr, a.text) == (b.ref, b.label, b.size, b.ocr, b.text)
        np.testing.assert_allclose(a.words.boxes, b.words.boxes, atol=1e-5)
        for x, y in zip(a.blocks, b.blocks, strict=True):
            assert (x.kind, x.text, x.order, x.start, x.end, x.caption_of) == (
                (y.kind, y.text, y.order, y.start, y.end, y.caption_of)
            )
            np.testing.assert_allclose(x.bbox.as_list(), y.bbox.as_list(), atol=1e-5)
            assert [(c.row, c.column, c.text, c.start, c.end, c.header, c.span) for c in x.cells] == [
                (c.row, c.column, c.text, c.start, c.end, c.header, c.span) for c in y.cells
            ]
    again = load_pages(dump_pages(after), "d", ["iv", None])
    assert all(a.blocks == b.blocks for a, b in zip(after, again, strict=True))


def test_raw_pages_come_back_as_they_were_written() -> None:
    page = raw.RawPage.empty(3, (10.0, 20.0))
    (back,) = raw.load(raw.dump([page]))
    assert (back.number, back.size, back.texts, back.needs_ocr) == (3, (10.0, 20.0), (), False)


def test_only_a_few_batches_stay_in_memory(tmp_path: Path) -> None:
    for at in range(10):
        pages = [Page(PageRef("d", at + 1), None, (1.0, 1.0), _pages()[1].words)]
        (tmp_path / batch_name(at)).write_bytes(dump_pages(pages))
    store = PageStore(tmp_path, "d", 1, [None] * 10)
    assert [store.page(n).ref.page for n in range(1, 11)] == list(range(1, 11))
    assert len(store._recent) == PageStore.KEPT


def test_what_is_written_can_be_read_by_whom_the_umask_lets(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        cache.write_atomic(tmp_path / "file", b"x")
        with cache.scratch_dir(tmp_path / "folder") as folder:
            mode = folder.stat().st_mode
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o644
    assert mode & 0o777 == 0o755


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PAGETRAIL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def aged(path: Path, hours: float) -> Path:
    then = time.time() - hours * 3600
    os.utime(path, (then, then), follow_symlinks=False)
    return path


def test_what_a_kill_left_in_the_cache_a_day_ago_goes_when_something_is_written_beside_it(root: Path) -> None:
    folder = root / "replies" / "ab"
    folder.mkdir(parents=True)
    names = {
        "old": ".abcdef.0123456789ab.tmp",
        "young": ".abcdef.ba9876543210.tmp",
        "entry": "abcdef",
        "other": ".notes.tmp",
        "shown": "abcdef.0123456789ab.tmp",
    }
    elsewhere = folder.parent / ".abcdef.0123456789ab.tmp"
    for name, file in [*((name, folder / file) for name, file in names.items()), ("else", elsewhere)]:
        file.write_text(name)
        aged(file, 1 if name == "young" else 99)
    cache.write_json(folder / "new", 1)
    left = {path.read_text() for path in folder.iterdir() if path.name != "new"}
    assert left == {"young", "entry", "other", "shown"} and elsewhere.exists()
    assert cache.read_json(folder / "new") == 1


def test_a_temporary_name_outside_the_cache_is_not_ours_to_remove(root: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "out" / ".row.0123456789ab.tmp"
    theirs.parent.mkdir()
    theirs.write_text("theirs")
    cache.write_atomic(aged(theirs, 99).with_name("row"), b"x")
    assert theirs.exists()


def test_a_link_with_a_temporary_name_goes_and_what_it_points_to_stays(root: Path, tmp_path: Path) -> None:
    root.mkdir()
    target = tmp_path / "dear"
    target.mkdir()
    (target / "file").touch()
    link = root / ".entry.0123456789ab.tmp"
    link.symlink_to(target)
    cache.write_json(aged(link, 99).with_name("new"), 1)
    assert not link.is_symlink() and (target / "file").exists()


def test_old_scratch_folders_go_under_their_lock_only(root: Path) -> None:
    for name in ("dead", "held", "unlocked"):
        (root / f".{name}.0123456789ab.tmp" / "part").mkdir(parents=True)
        aged(root / f".{name}.0123456789ab.tmp", 99)
    with cache.lock(root / "dead"):
        pass
    with cache.lock(root / "held"):
        cache.write_json(root / "new", 1)
    assert sorted(path.name for path in root.glob(".*.tmp")) == [
        ".held.0123456789ab.tmp",
        ".unlocked.0123456789ab.tmp",
    ]
    cache.write_json(root / "new", 2)
    assert [path.name for path in root.glob(".*.tmp")] == [".unlocked.0123456789ab.tmp"]


def test_a_scratch_folder_of_the_same_long_name_that_a_kill_left_goes_at_once(tmp_path: Path) -> None:
    key = "a1" * 32  # as cache entries are named
    left, other = (tmp_path / f".{name}.0123456789ab.tmp" for name in (key, f"{key}.ivf"))
    for folder in (left, other):
        folder.mkdir()
    with cache.scratch_dir(tmp_path / key):
        assert not left.exists() and other.exists()


def test_a_cache_folder_that_cannot_be_named_keeps_nobody_from_writing_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGETRAIL_CACHE", "~nobody-of-that-name/cache")
    cache.write_atomic(tmp_path / "file", b"x")
    assert (tmp_path / "file").read_bytes() == b"x"
