"""ColQwen models and processors with random weights, not on disk: tiny ones, or of the real size.

They are made by the real classes of colpali-engine and transformers; the weights mean nothing.
`eval.random_checkpoint` writes them as checkpoints.
"""

from typing import Any

from indexes.encoders.colqwen_models import FAMILIES, import_colpali
from indexes.errors import InputError

SPECIAL = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
WORDS = (
    "the revenue of the company grew in the second quarter",
    "Table 1: net sales by region",
    "page 12 of 300",
)
TEMPLATE = "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"


def random_model(family: str, size: str, vocabulary: int) -> Any:
    """A model with random weights, not on disk.

    Args:
        family: `qwen2_vl`, `qwen2_5_vl` or `qwen3_vl`.
        size: `tiny`, or `real` for the shapes of Qwen2.5-VL-3B (family `qwen2_5_vl` only).
        vocabulary: how many tokens the tokenizer knows.
    """
    import torch

    model = getattr(import_colpali(), FAMILIES[family].model)(random_config(family, size, vocabulary))
    with torch.no_grad():  # the pad token's row starts at zero, which would normalize to NaN
        model.get_input_embeddings().weight.normal_(std=0.5)
    return model.eval()


def random_config(family: str, size: str, vocabulary: int) -> Any:
    """The configuration of such a model, as transformers has it.

    Args:
        family: `qwen2_vl`, `qwen2_5_vl` or `qwen3_vl`.
        size: `tiny`, or `real` for the shapes of Qwen2.5-VL-3B.
        vocabulary: how many tokens the tokenizer knows.

    Raises:
        InputError: the real size of another family than `qwen2_5_vl`.
    """
    import transformers

    if size == "real" and family != "qwen2_5_vl":
        raise InputError(f"family {family!r}: the real size is known of qwen2_5_vl only")
    text, vision = _REAL if size == "real" else TINY[family]
    ids = {name: SPECIAL.index(token) for name, token in _TOKEN_IDS.items()}
    return getattr(transformers, _CONFIGS[family])(
        text_config={**text, "vocab_size": vocabulary if size == "tiny" else text["vocab_size"]},
        vision_config=vision,
        tie_word_embeddings=True,
        **ids,
    )


def random_processor(family: str) -> Any:
    """A processor of a Qwen family with a tokenizer trained on a few words."""
    import transformers

    colpali = import_colpali()
    patch = 16 if family == "qwen3_vl" else 14
    side = patch * 2
    size = {"shortest_edge": 4 * side * side, "longest_edge": 768 * side * side}
    images = transformers.Qwen2VLImageProcessor(size=size, patch_size=patch, merge_size=2)
    video_class = "Qwen3VLVideoProcessor" if family == "qwen3_vl" else "Qwen2VLVideoProcessor"
    videos = getattr(transformers, video_class)(size=size, patch_size=patch, merge_size=2)
    return getattr(colpali, FAMILIES[family].processor)(
        image_processor=images, tokenizer=_tokenizer(), video_processor=videos, chat_template=TEMPLATE
    )


def _tokenizer() -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(WORDS, trainer)
    wrap: Any = PreTrainedTokenizerFast
    return wrap(
        tokenizer_object=tokenizer,
        pad_token=SPECIAL[0],
        eos_token=SPECIAL[0],
        additional_special_tokens=list(SPECIAL[1:]),
        padding_side="left",
    )


_TOKEN_IDS = {
    "image_token_id": "<|image_pad|>",
    "video_token_id": "<|video_pad|>",
    "vision_start_token_id": "<|vision_start|>",
    "vision_end_token_id": "<|vision_end|>",
}
_CONFIGS = {"qwen2_vl": "Qwen2VLConfig", "qwen2_5_vl": "Qwen2_5_VLConfig", "qwen3_vl": "Qwen3VLConfig"}

_TEXT: dict[str, Any] = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 96,
    "max_position_embeddings": 4096,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0, "mrope_section": [2, 3, 3]},
}
TINY: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "qwen2_vl": (
        _TEXT,
        {"depth": 2, "embed_dim": 32, "hidden_size": 64, "num_heads": 2, "patch_size": 14, "mlp_ratio": 2},
    ),
    "qwen2_5_vl": (
        _TEXT,
        {
            "depth": 2,
            "hidden_size": 32,
            "num_heads": 2,
            "intermediate_size": 48,
            "out_hidden_size": 64,
            "fullatt_block_indexes": [1],
            "patch_size": 14,
        },
    ),
    "qwen3_vl": (
        {
            **_TEXT,
            "head_dim": 16,
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 10_000.0,
                "mrope_section": [4, 2, 2],
                "mrope_interleaved": True,
            },
        },
        {
            "depth": 2,
            "hidden_size": 32,
            "num_heads": 2,
            "intermediate_size": 48,
            "out_hidden_size": 64,
            "patch_size": 16,
            "deepstack_visual_indexes": [0],
            "num_position_embeddings": 256,
        },
    ),
}
# The shapes of Qwen2.5-VL-3B, as its configuration tells them
_REAL: tuple[dict[str, Any], dict[str, Any]] = (
    {
        "vocab_size": 151_936,
        "hidden_size": 2048,
        "num_hidden_layers": 36,
        "num_attention_heads": 16,
        "num_key_value_heads": 2,
        "intermediate_size": 11_008,
        "max_position_embeddings": 128_000,
        "bos_token_id": 0,
        "eos_token_id": 0,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [16, 24, 24]},
    },
    {
        "depth": 32,
        "hidden_size": 1280,
        "num_heads": 16,
        "intermediate_size": 3420,
        "out_hidden_size": 2048,
        "fullatt_block_indexes": [7, 15, 23, 31],
        "patch_size": 14,
    },
)
