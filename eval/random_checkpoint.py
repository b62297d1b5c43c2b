"""Random ColQwen and Qwen-VL checkpoints: tiny ones to test with, of the real size to measure speed with.

They are saved in the real format; the weights mean nothing. `python -m eval.random_checkpoint FOLDER` writes
one for `python -m indexes.build --encoder colqwen`, with `--generator` one for the reader `qwen`, whose
replies are noise.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eval.random_models import SPECIAL, TINY, random_config, random_model, random_processor
from indexes.encoders.colqwen_models import FAMILIES, import_colpali
from indexes.encoders.quiet import quiet_libraries
from indexes.errors import CommandParser, InputError, run_command

# That of Qwen2-VL and later, without videos and tools
CHAT_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n"
    "{% if m['content'] is string %}{{ m['content'] }}{% else %}{% for part in m['content'] %}"
    "{% if part['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
GENERATORS = {
    "qwen2_vl": ("Qwen2VLForConditionalGeneration", "Qwen2VLProcessor"),
    "qwen2_5_vl": ("Qwen2_5_VLForConditionalGeneration", "Qwen2_5_VLProcessor"),
    "qwen3_vl": ("Qwen3VLForConditionalGeneration", "Qwen3VLProcessor"),
}


def write_checkpoint(folder: Path, family: str = "qwen2_5_vl", seed: int = 0) -> None:
    """Writes a tiny merged checkpoint with random weights: model, processor and tokenizer.

    Args:
        folder: where to; made if need be.
        family: a Qwen family of `indexes.encoders.colqwen_models.FAMILIES`.
        seed: of the weights.
    """
    import torch

    torch.manual_seed(seed)
    folder.mkdir(parents=True, exist_ok=True)
    processor = random_processor(family)
    with quiet_libraries():
        random_model(family, "tiny", len(processor.tokenizer)).save_pretrained(folder)
        processor.save_pretrained(folder)


def write_generator(folder: Path, family: str = "qwen2_5_vl", seed: int = 0, size: str = "tiny") -> None:
    """Writes a checkpoint with random weights that generates noise, as transformers saves Qwen-VL models.

    Args:
        folder: where to; made if need be.
        family: `qwen2_vl`, `qwen2_5_vl` or `qwen3_vl`.
        seed: of the weights.
        size: `tiny`, or `real` for the shapes of Qwen2.5-VL-3B (family `qwen2_5_vl` only).
    """
    import_colpali()  # makes torchvision importable
    import torch
    import transformers

    torch.manual_seed(seed)
    folder.mkdir(parents=True, exist_ok=True)
    parts = random_processor(family)
    processor = getattr(transformers, GENERATORS[family][1])(
        image_processor=parts.image_processor,
        tokenizer=parts.tokenizer,
        video_processor=parts.video_processor,
        chat_template=CHAT_TEMPLATE,
    )
    config = random_config(family, size, len(processor.tokenizer))
    config.text_config.max_position_embeddings = 32_768
    config.tie_word_embeddings = size == "real"  # a tied head would say its last token again and again
    with quiet_libraries():
        model = getattr(transformers, GENERATORS[family][0])(config)
        with torch.no_grad():
            model.get_input_embeddings().weight.normal_(std=0.5)
        model.generation_config.eos_token_id = [SPECIAL.index("<|im_end|>"), SPECIAL.index("<|endoftext|>")]
        model.generation_config.pad_token_id = SPECIAL.index("<|endoftext|>")
        model.save_pretrained(folder)
        processor.save_pretrained(folder)


def write_adapter(folder: Path, base: Path, seed: int = 1, **options: Any) -> None:
    """Writes a LoRA adapter with random weights over a checkpoint on disk, as colpali-engine trains them.

    Args:
        folder: where to; made if need be.
        base: the merged checkpoint under it; its path becomes the adapter's `base_model_name_or_path`.
        seed: of the weights.
        options: of peft's `LoraConfig`, instead of those here.
    """
    colpali = import_colpali()
    import torch
    from peft import LoraConfig, get_peft_model

    family = FAMILIES[json.loads((base / "config.json").read_text())["model_type"]]
    targets = "down_proj|gate_proj|up_proj|k_proj|q_proj|v_proj|o_proj"
    usual = {
        "r": 4,
        "lora_alpha": 8,
        "init_lora_weights": False,
        "bias": "none",
        "task_type": "FEATURE_EXTRACTION",
        "target_modules": rf"(.*(model).*({targets}).*$|.*(custom_text_proj).*$)",
    }
    with quiet_libraries():
        model = getattr(colpali, family.model).from_pretrained(base)
        torch.manual_seed(seed)
        get_peft_model(model, LoraConfig(**{**usual, **options})).save_pretrained(str(folder))
    path = folder / "adapter_config.json"
    told = {**json.loads(path.read_text()), "base_model_name_or_path": str(base)}
    path.write_text(json.dumps(told, indent=1))
    random_processor(family.model_type).save_pretrained(folder)


def _make_empty(folder: Path) -> None:
    """Makes a folder to write into, before a model is made.

    Raises:
        InputError: it holds something, or cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        holds = any(folder.iterdir())
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror}); name another folder") from error
    if holds:
        raise InputError(f"{folder}: is there already and not empty; name another folder")


EXAMPLES = """\
example:
  python -m eval.random_checkpoint tiny/ && python -m indexes.build report.pdf --encoder colqwen --model tiny/
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes a tiny random checkpoint, and an adapter over it if asked for."""
    parser = CommandParser(
        "python -m eval.random_checkpoint",
        "Writes a tiny checkpoint with random weights, to try encoder or reader without one.",
        EXAMPLES,
    )
    parser.add_argument("folder", type=Path, help="where to write it")
    parser.add_argument("--family", default="qwen2_5_vl", choices=sorted(TINY), help="(default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the weights (default: %(default)s)")
    parser.add_argument("--adapter", type=Path, metavar="FOLDER", help="write a LoRA adapter over it as well")
    parser.add_argument(
        "--generator", action="store_true", help="a Qwen-VL model for the reader qwen, not a ColQwen"
    )
    options = parser.parse_args(arguments)
    if options.generator and options.adapter is not None:
        raise InputError("--generator and --adapter: an adapter goes over a ColQwen only; leave one out")
    for folder in (options.folder, options.adapter):
        if folder is not None:
            _make_empty(folder)
    write = write_generator if options.generator else write_checkpoint
    write(options.folder, options.family, options.seed)
    if options.adapter is not None:
        write_adapter(options.adapter, options.folder.absolute(), options.seed + 1)
    return 0


if __name__ == "__main__":
    run_command(main)
