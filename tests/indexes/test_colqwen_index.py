"""From PDF to ranked pages with an encoder of images: index, scores and regions against brute force."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from colqwen_checkpoints import QWEN, adapter, merged

from agent import readers
from agent.answer import open_asker
from agent.config import load_config, names
from indexes import build
from indexes.document import Document
from indexes.embedding import embed_pages
from indexes.encoders import load_encoder
from indexes.encoders.colqwen import ColQwen, ColQwenSettings, load_colqwen
from indexes.encoders.protocol import ImageEncoder, TextEncoder
from indexes.errors import InputError
from indexes.index import PageIndex
from indexes.types import PageRef
from indexes.vectors import IndexSettings
from retrieval.hybrid import open_retriever

PAGES = 6
QUERY = "revenue of the second quarter"
SETTINGS = ColQwenSettings(max_num_visual_tokens=64, dpi=50, batch_size=4)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def small_pdf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six pages that look different, the fourth on its side."""
    import pymupdf

    path = tmp_path_factory.mktemp("small") / "small.pdf"
    with pymupdf.open() as pdf:
        for number in range(1, PAGES + 1):
            page = pdf.new_page(width=400, height=520)
            page.insert_text((40, 60), f"Chapter {number}: revenue of quarter {number}", fontsize=14)
            page.draw_rect((60, 80 * number - 40, 340, 80 * number), fill=(number / 7, 0.2, 0.5))
            if number == 4:
                page.set_rotation(90)
        pdf.save(path)
    return path


@pytest.fixture
def document(small_pdf: Path) -> Iterator[Document]:
    with Document.open(small_pdf, ocr=False) as opened:
        yield opened


def encoder_of(folder: Path) -> ColQwen:
    return load_colqwen(str(folder), device="cpu", settings=SETTINGS)


@pytest.mark.parametrize("family", QWEN)
@pytest.mark.parametrize("kind", [merged, adapter])
def test_pages_of_a_pdf_are_ranked_as_colpali_engine_ranks_them(
    family: str, kind: Any, document: Document
) -> None:
    import torch

    encoder = encoder_of(kind(family))
    index = PageIndex.open_or_build(document, encoder)
    assert index.refs == tuple(PageRef("small", number) for number in range(1, PAGES + 1))
    model, processor = encoder.loaded.model, encoder.loaded.processor
    pages = []
    with torch.no_grad():
        for number in range(1, PAGES + 1):
            batch = processor.process_images([document.render(number, 50)])
            pages.append(model(**batch)[0][processor.get_image_mask(batch)[0]])
        query = model(**processor.process_queries([QUERY]))[0]
    expected = processor.score_multi_vector([query], pages, device="cpu")[0].numpy()
    found = index.maxsim(encoder.encode_query(QUERY))
    assert np.abs(found - expected).max() < 6e-3  # the index keeps 16 bits
    clear = np.abs(np.subtract.outer(expected, expected)) > 0.012
    assert (
        np.sign(np.subtract.outer(found, found))[clear]
        == np.sign(np.subtract.outer(expected, expected))[clear]
    ).all()
    assert index.manifest["counts"]["vectors"] == sum(len(page) for page in pages)
    assert index.manifest["settings"] == {"dim": encoder.dim, "bits": 16}
    pooled = [page.mean(dim=0).numpy() / float(page.mean(dim=0).norm()) for page in pages]
    asked = encoder.encode_query(QUERY)
    assert np.allclose(index.pooled(asked), [page @ asked.pooled for page in pooled], atol=2e-3)


def test_an_index_is_found_again_and_not_by_another_checkpoint(
    document: Document, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = encoder_of(merged("qwen2_vl"))
    first = PageIndex.open_or_build(document, encoder)
    query = encoder.encode_query(QUERY)

    def never(*_: Any) -> Any:
        raise AssertionError("the index is there")

    monkeypatch.setattr(encoder, "encode_images", never)
    again = PageIndex.open_or_build(document, encoder)
    assert (again.maxsim(query) == first.maxsim(query)).all()
    other = encoder_of(merged("qwen2_vl", seed=7))
    assert PageIndex.open_or_build(document, other).manifest["revision"] == other.revision != encoder.revision


def test_a_gpu_index_needs_no_words(document: Document, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("the pages' words were read")

    monkeypatch.setattr(Document, "_read", never)
    encoder = encoder_of(merged("qwen2_vl", seed=8))
    assert len(PageIndex.open_or_build(document, encoder).refs) == PAGES


def test_regions_are_patches_of_the_page_that_the_query_matched(document: Document) -> None:
    encoder = encoder_of(merged("qwen2_5_vl"))
    index = PageIndex.open_or_build(document, encoder)
    query = encoder.encode_query(QUERY)
    embedding = embed_pages(document, encoder, [2])[0]
    regions = [region.bbox for region in index.match(query, PageRef("small", 2)).regions(3)]
    assert 1 <= len(regions) <= 3
    for region in regions:
        inside = [
            box
            for box in embedding.boxes
            if box[0] >= region.x1 - 1e-3
            and box[1] >= region.y1 - 1e-3
            and box[2] <= region.x2 + 1e-3
            and box[3] <= region.y2 + 1e-3
        ]
        assert inside


def test_a_page_on_its_side_is_embedded_as_it_is_seen(document: Document) -> None:
    encoder = encoder_of(merged("qwen2_vl"))
    upright, turned = embed_pages(document, encoder, [3, 4])
    grids = [
        (len({box[0] for box in e.boxes.tolist()}), len({box[1] for box in e.boxes.tolist()}))
        for e in (upright, turned)
    ]
    assert grids[0] == grids[1][::-1] and grids[0][0] < grids[0][1]


def test_a_page_that_cannot_be_rendered_has_no_vectors_and_the_others_have(
    document: Document, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real = Document.render

    def render(self: Document, number: int, dpi: float = 144) -> Any:
        if number == 2:
            raise ValueError("page 2 of small.pdf: cannot be rendered: broken")
        return real(self, number, dpi)

    monkeypatch.setattr(Document, "render", render)
    encoder = encoder_of(merged("qwen2_vl", seed=9))
    index = PageIndex.open_or_build(document, encoder)
    assert "cannot be rendered" in caplog.text and "no vectors" in caplog.text
    scores = index.maxsim(encoder.encode_query(QUERY))
    assert np.isneginf(scores[1]) and np.isfinite(np.delete(scores, 1)).all()
    assert np.isneginf(index.pooled(encoder.encode_query(QUERY))[1])


def test_the_hybrid_retriever_takes_an_encoder_of_images(document: Document) -> None:
    retriever = open_retriever(document, encoder=encoder_of(merged("qwen2_5_vl")))
    found = retriever.retrieve("Chapter 5", 3)
    assert len(found) == 3
    assert found[0].ref == PageRef("small", 5)  # by its words
    assert "late interaction" in {name for page in found for name in page.matched}


def test_the_agent_answers_over_an_encoder_of_images_and_reads_with_one_of_texts(
    small_pdf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = readers.load_reader
    config = load_config(
        "cpu",
        encoder="colqwen",
        encoder_model=str(merged("qwen2_vl")),
        device="cpu",
        max_num_visual_tokens=64,
        ocr=False,
    )
    given: list[Any] = []
    monkeypatch.setattr(readers, "load_reader", lambda *args: given.append(args) or real(*args))
    with open_asker(small_pdf, config) as asker:
        assert isinstance(getattr(asker.retriever, "encoder", None), ColQwen)
        assert [(config.reader, type(encoder).__name__) for config, encoder in given] == [
            ("extractive", "MiniLM")
        ]
        run = asker.ask("What is in chapter 5?")
    assert run.rounds and run.rounds[0].retrieved


def test_the_build_command_takes_a_model(small_pdf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--encoder", "colqwen", "--model", str(merged("qwen2_vl")), "--device", "cpu", "--quiet"]
    assert build.main([str(small_pdf), *options, "--max-num-visual-tokens", "32", "--batch-size", "2"]) == 0
    assert "small.pdf: 6 pages, " in capsys.readouterr().out


def test_encoders_are_told_apart_and_their_settings_checked() -> None:
    encoder = load_encoder("colqwen", model=str(merged("qwen2_vl")), device="cpu", dpi=72)
    assert isinstance(encoder, ImageEncoder) and encoder.dpi == 72
    assert not isinstance(load_encoder("minilm"), ImageEncoder)
    with pytest.raises(InputError, match="needs a model"):
        load_encoder("colqwen")
    with pytest.raises(InputError, match="'minilm' has no device, model"):
        load_encoder("minilm", model="x", device="cpu")
    with pytest.raises(InputError, match="did you mean 'colqwen'"):
        load_encoder("colqwen2")


@pytest.mark.parametrize("name", ["colqwen", "colqwen3", "colpali", "colsmol"])
def test_the_configs_name_a_model_and_tell_where_it_was_looked_for(name: str) -> None:
    config = load_config(name)
    assert name in names()
    assert config.encoder == "colqwen" and config.encoder_settings["dpi"] == 144
    with pytest.raises(InputError, match=f"model '{config.encoder_model}'.*hf download"):
        load_encoder(config.encoder, **{**config.encoder_settings, "device": "cpu"})


def test_the_default_config_asks_nothing_of_its_encoder_and_unknown_keys_stay_refused(tmp_path: Path) -> None:
    assert load_config("cpu").encoder_settings == {}
    file = tmp_path / "mine.yaml"
    file.write_text("encoder: colqwen\nencoder_modell: x\n")
    with pytest.raises(InputError, match="unknown key 'encoder_modell'; did you mean 'encoder_model'"):
        load_config(file)
    file.write_text("encoder: colqwen\nmax_num_visual_tokens: 3\n")
    with pytest.raises(InputError, match="max_num_visual_tokens is 3"):
        load_config(file)


def test_reading_encoders_are_asked_for_words_as_before(document: Document) -> None:
    encoder = load_encoder("minilm")
    assert not isinstance(encoder, ImageEncoder)
    text_encoder: TextEncoder = encoder
    index = PageIndex.open_or_build(document, text_encoder)
    assert index.manifest["settings"] == {"dim": IndexSettings().dim, "bits": IndexSettings().bits}
    assert int(index.maxsim(encoder.encode_query("Chapter 5: revenue of quarter 5")).argmax()) == 4
