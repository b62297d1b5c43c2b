"""Tiny random checkpoints for the tests, each made once a run, and ways to damage copies of them."""

import atexit
import functools
import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from indexes.types import PageRef

QWEN = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl")


@functools.cache
def _home() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="checkpoints-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@functools.cache
def merged(family: str, seed: int = 0) -> Path:
    from eval.random_checkpoint import write_checkpoint

    folder = _home() / f"{family}-{seed}"
    write_checkpoint(folder, family, seed)
    return folder


@functools.cache
def adapter(family: str) -> Path:
    from eval.random_checkpoint import write_adapter

    folder = _home() / f"{family}-adapter"
    write_adapter(folder, merged(family))
    return folder


def copy_of(folder: Path, to: Path) -> Path:
    shutil.copytree(folder, to)
    return to


def edit_tensors(folder: Path, edit: Callable[[dict[str, Any]], None]) -> Path:
    """Rewrites the weights of a checkpoint as `edit` leaves them."""
    from safetensors.torch import load_file, save_file

    file = next(folder.glob("*model.safetensors"))
    tensors = load_file(file)
    edit(tensors)
    save_file(tensors, file, metadata={"format": "pt"})
    return folder


def edit_json(file: Path, **values: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


def picture(width: int, height: int, seed: int) -> Image.Image:
    pixels = np.random.default_rng(seed).integers(0, 255, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


def refs(count: int) -> list[PageRef]:
    return [PageRef("doc", number) for number in range(1, count + 1)]


@functools.cache
def other(family: str) -> Path:
    """A tiny checkpoint of a family that is no Qwen, or of the newest one."""
    import torch

    from indexes.encoders.colqwen_models import FAMILIES, import_colpali

    torch.manual_seed(0)
    folder = _home() / family
    make = {"qwen3_5": _qwen3_5, "paligemma": _paligemma, "idefics3": _idefics3, "modernvbert": _modernvbert}
    config, processor = make[family](import_colpali())
    model = getattr(import_colpali(), FAMILIES[family].model)(config)
    with torch.no_grad():
        model.get_input_embeddings().weight.normal_(std=0.5)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def _qwen3_5(colpali: Any) -> tuple[Any, Any]:
    import transformers

    from eval.random_models import SPECIAL, random_processor

    like = random_processor("qwen3_vl")
    processor = colpali.ColQwen3_5Processor(
        image_processor=like.image_processor,
        tokenizer=like.tokenizer,
        video_processor=like.video_processor,
        chat_template=like.chat_template,
    )
    text = {
        **_TEXT,
        "num_hidden_layers": 4,  # the fourth has full attention
        "num_key_value_heads": 2,
        "head_dim": 16,
        "vocab_size": len(like.tokenizer),
        "bos_token_id": 0,
        "eos_token_id": 0,
        "pad_token_id": 0,
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 4,
        "linear_key_head_dim": 16,
        "linear_value_head_dim": 16,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 10_000.0,
            "mrope_section": [4, 2, 2],
            "mrope_interleaved": True,
            "partial_rotary_factor": 1.0,
        },
    }
    vision = {
        "depth": 2,
        "hidden_size": 32,
        "num_heads": 2,
        "intermediate_size": 48,
        "out_hidden_size": 64,
        "patch_size": 16,
        "num_position_embeddings": 256,
    }
    config = transformers.Qwen3_5Config(
        text_config=text,
        vision_config=vision,
        image_token_id=SPECIAL.index("<|image_pad|>"),
        video_token_id=SPECIAL.index("<|video_pad|>"),
        vision_start_token_id=SPECIAL.index("<|vision_start|>"),
        vision_end_token_id=SPECIAL.index("<|vision_end|>"),
        tie_word_embeddings=True,
    )
    config.dim = 48  # such a checkpoint says its own
    return config, processor


def _paligemma(colpali: Any) -> tuple[Any, Any]:
    import transformers

    tokenizer = _tokenizer(["<pad>", "<bos>", "<eos>", "<image>"], bos_token="<bos>", eos_token="<eos>")
    images = transformers.SiglipImageProcessor(size={"height": 56, "width": 56})
    images.image_seq_length = 16
    vision = {**_VISION, "model_type": "siglip_vision_model", "image_size": 56, "patch_size": 14}
    text = {**_TEXT, **_IDS, "model_type": "gemma", "num_key_value_heads": 1, "head_dim": 16}
    config = transformers.PaliGemmaConfig(
        image_token_index=3,
        projection_dim=64,
        hidden_size=64,
        vision_config={**vision, "projection_dim": 64, "vision_use_head": False},
        text_config={**text, "vocab_size": len(tokenizer) + 100},
    )
    processor = colpali.ColPaliProcessor(image_processor=images, tokenizer=tokenizer, chat_template="x")
    return config, processor


def _idefics3(colpali: Any) -> tuple[Any, Any]:
    import transformers

    processor = _tiles_processor(colpali.ColIdefics3Processor)
    size = len(processor.tokenizer)
    config = transformers.Idefics3Config(
        image_token_id=3,
        pad_token_id=0,
        scale_factor=2,
        vision_config={**_VISION, "image_size": 32, "patch_size": 8},
        text_config={**_TEXT, **_IDS, "model_type": "llama", "num_key_value_heads": 2, "vocab_size": size},
    )
    return config, processor


def _modernvbert(colpali: Any) -> tuple[Any, Any]:
    import transformers

    processor = _tiles_processor(colpali.ColModernVBertProcessor)
    text = {**_TEXT, **_IDS, "model_type": "modernbert", "cls_token_id": 1, "sep_token_id": 2}
    config = transformers.ModernVBertConfig(
        image_token_id=3,
        pixel_shuffle_factor=2,
        vision_config={**_VISION, "model_type": "siglip_vision_model", "image_size": 32, "patch_size": 8},
        text_config={**text, "vocab_size": len(processor.tokenizer)},
    )
    return config, processor


def _tiles_processor(kind: Any) -> Any:
    import transformers

    marks = ["<fake_token_around_image>", "<global-img>", "<end_of_utterance>"]
    places = [f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)]
    special = ["<pad>", "<s>", "</s>", "<image>", *marks, *places]
    tokenizer = _tokenizer(special, bos_token="<s>", eos_token="</s>")
    images = transformers.Idefics3ImageProcessor(
        size={"longest_edge": 128}, max_image_size={"longest_edge": 32}
    )
    return kind(image_processor=images, tokenizer=tokenizer, image_seq_len=4, chat_template="x")


def _tokenizer(special: list[str], **names: str) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(special_tokens=special, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(["the revenue of the company"], trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, additional_special_tokens=special, pad_token="<pad>", **names
    )


_TEXT = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96}
_VISION = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}
_IDS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
