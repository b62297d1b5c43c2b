"""Loading of late-interaction checkpoints: what is right loads bit by bit, what is wrong is named."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from colqwen_checkpoints import QWEN, adapter, copy_of, edit_json, edit_tensors, merged, picture, refs

from eval.random_checkpoint import main as write_command
from eval.random_checkpoint import write_adapter
from indexes.encoders import checkpoints
from indexes.encoders.colqwen import ColQwenSettings, load_colqwen
from indexes.encoders.colqwen_models import FAMILIES, import_colpali
from indexes.encoders.colqwen_weights import load_model, renamed
from indexes.encoders.devices import choose_device
from indexes.encoders.quiet import quiet_libraries
from indexes.encoders.torchvision_shim import make_torchvision_importable, torchvision_version
from indexes.errors import InputError

PROJECTION = "custom_text_proj.weight"


@pytest.fixture(autouse=True)
def one_thread() -> None:
    import torch

    torch.set_num_threads(1)


def refused(name: Path, base: Path | None = None) -> str:
    with pytest.raises(InputError) as caught:
        load_model(str(name), base=str(base) if base else None, device="cpu")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def removed(*parts: str) -> Callable[[dict[str, Any]], None]:
    def edit(tensors: dict[str, Any]) -> None:
        for key in [key for key in tensors if any(part in key for part in parts)]:
            del tensors[key]

    return edit


@pytest.mark.parametrize("family", QWEN)
def test_a_checkpoint_loads_bit_by_bit_as_it_is_on_disk(family: str) -> None:
    from safetensors.torch import load_file

    loaded = load_model(str(merged(family)), device="cpu")
    state = loaded.model.state_dict()
    on_disk = load_file(merged(family) / "model.safetensors")
    assert len(on_disk) == len(state)
    for name, values in on_disk.items():
        assert (state[name.removeprefix("model.")] == values).all(), name
    assert type(loaded.model).__name__ == FAMILIES[family].model
    assert type(loaded.processor).__name__ == FAMILIES[family].processor
    assert loaded.dim == {"qwen2_vl": 128, "qwen2_5_vl": 128, "qwen3_vl": 320}[family]
    assert loaded.digest == load_model(str(merged(family)), device="cpu").digest


@pytest.mark.parametrize("family", QWEN)
def test_an_adapter_gives_what_transformers_makes_of_it(
    family: str, capfd: pytest.CaptureFixture[str]
) -> None:
    import torch

    encoder = load_colqwen(
        str(adapter(family)), device="cpu", settings=ColQwenSettings(max_num_visual_tokens=64)
    )
    image = picture(170, 220, 0)
    ours = encoder.encode_images(refs(1), [image])[0].vectors
    other = getattr(import_colpali(), FAMILIES[family].model).from_pretrained(adapter(family)).eval()
    batch = encoder.loaded.processor.process_images([image])
    with torch.no_grad():
        output = other(**batch)[0][batch["input_ids"][0] == other.config.image_token_id]
    assert np.abs(ours - output.numpy()).max() < 1e-5
    base = load_colqwen(str(merged(family)), device="cpu", settings=ColQwenSettings(max_num_visual_tokens=64))
    assert np.abs(ours - base.encode_images(refs(1), [image])[0].vectors).max() > 0.05
    capfd.readouterr()


@pytest.mark.parametrize(
    "options",
    [
        {"use_dora": True},
        {"use_rslora": True},
        {"rank_pattern": {"q_proj": 8}},
        {"modules_to_save": ["custom_text_proj"], "target_modules": ".*language_model.*(q_proj|v_proj)"},
    ],
)
def test_other_kinds_of_lora_give_what_peft_makes_of_them(options: dict[str, Any], tmp_path: Path) -> None:
    import torch
    from peft import PeftModel

    write_adapter(tmp_path, merged("qwen2_vl"), **options)
    loaded = load_model(str(tmp_path), device="cpu")
    with quiet_libraries():
        base = import_colpali().ColQwen2.from_pretrained(merged("qwen2_vl"))
        other = PeftModel.from_pretrained(base, str(tmp_path)).eval()
    batch = loaded.processor.process_images([picture(60, 80, 0)])
    with torch.no_grad():
        assert (loaded.model(**batch) - other(**batch)).abs().max() < 1e-5


@pytest.mark.parametrize("family", QWEN)
def test_a_removed_projection_is_named(family: str, tmp_path: Path) -> None:
    folder = edit_tensors(copy_of(merged(family), tmp_path / "x"), removed("custom_text_proj"))
    message = refused(folder)
    assert "2 missing: custom_text_proj.bias, custom_text_proj.weight" in message


@pytest.mark.parametrize("family", QWEN)
def test_a_renamed_weight_is_missing_under_one_name_and_left_over_under_the_other(
    family: str, tmp_path: Path
) -> None:
    def rename(tensors: dict[str, Any]) -> None:
        key = next(key for key in tensors if key.endswith("layers.1.mlp.up_proj.weight"))
        tensors[key.replace("up_proj", "upward_proj")] = tensors.pop(key)

    message = refused(edit_tensors(copy_of(merged(family), tmp_path / "x"), rename))
    assert "1 missing: language_model.layers.1.mlp.up_proj.weight" in message
    assert "1 not of this model: " in message and "layers.1.mlp.upward_proj.weight" in message


def test_a_weight_of_another_shape_is_named_with_both_shapes(tmp_path: Path) -> None:
    def cut(tensors: dict[str, Any]) -> None:
        tensors[PROJECTION] = tensors[PROJECTION][:64].contiguous()

    message = refused(edit_tensors(copy_of(merged("qwen2_vl"), tmp_path / "x"), cut))
    assert f"1 of another shape: {PROJECTION} [64, 64] for [128, 64]" in message


def test_a_removed_vision_layer_is_named_and_long_lists_are_cut(tmp_path: Path) -> None:
    folder = copy_of(merged("qwen2_5_vl"), tmp_path / "x")
    message = refused(edit_tensors(folder, removed("visual.")))
    assert "missing: " in message and "more" in message and len(message) < 500


def test_the_output_head_of_a_language_model_may_be_left_over(tmp_path: Path) -> None:
    def add(tensors: dict[str, Any]) -> None:
        tensors["lm_head.weight"] = tensors[PROJECTION].clone()

    folder = edit_tensors(copy_of(merged("qwen2_vl"), tmp_path / "x"), add)
    assert load_model(str(folder), device="cpu").dim == 128


def test_an_adapter_over_a_base_of_another_name_is_refused() -> None:
    message = refused(adapter("qwen2_vl"), base=merged("qwen2_vl", seed=5))
    assert "qwen2_vl-0" in message and "qwen2_vl-5" in message


def test_an_adapter_over_a_base_of_other_shapes_is_refused(tmp_path: Path) -> None:
    import torch
    import transformers

    config = transformers.Qwen2VLConfig.from_pretrained(merged("qwen2_vl"))
    config.text_config.intermediate_size = 80
    torch.manual_seed(0)
    folder = copy_of(merged("qwen2_vl"), tmp_path / merged("qwen2_vl").name)
    import_colpali().ColQwen2(config).save_pretrained(folder)
    message = refused(adapter("qwen2_vl"), base=folder)
    assert "of another shape" in message and "mlp.up_proj.lora_B" in message


def test_an_adapter_over_another_family_is_refused(tmp_path: Path) -> None:
    folder = copy_of(merged("qwen3_vl"), tmp_path / merged("qwen2_vl").name)
    assert "of another shape" in refused(adapter("qwen2_vl"), base=folder)


def test_an_adapter_over_a_base_without_a_projection_is_refused(tmp_path: Path) -> None:
    folder = copy_of(merged("qwen2_vl"), tmp_path / merged("qwen2_vl").name)
    edit_tensors(folder, removed("custom_text_proj"))
    assert "2 missing: custom_text_proj.bias" in refused(adapter("qwen2_vl"), base=folder)


def test_an_adapter_may_bring_the_projection_along(tmp_path: Path) -> None:
    from safetensors.torch import load_file

    base = copy_of(merged("qwen2_vl"), tmp_path / merged("qwen2_vl").name)
    whole = {key: value for key, value in load_file(base / "model.safetensors").items() if "_proj." in key}
    edit_tensors(base, removed("custom_text_proj"))

    def bring(tensors: dict[str, Any]) -> None:
        for part in ("weight", "bias"):
            name = f"custom_text_proj.{part}"
            tensors[f"base_model.model.{name}"] = whole[name].clone()

    folder = edit_tensors(copy_of(adapter("qwen2_vl"), tmp_path / "adapter"), bring)
    loaded = load_model(str(folder), base=str(base), device="cpu")
    assert (loaded.model.custom_text_proj.base_layer.weight == whole[PROJECTION]).all()


def test_an_adapter_that_lacks_a_tensor_is_refused(tmp_path: Path) -> None:
    folder = copy_of(adapter("qwen2_5_vl"), tmp_path / "x")
    message = refused(edit_tensors(folder, removed("layers.0.self_attn.q_proj.lora_B")))
    assert "1 missing: language_model.layers.0.self_attn.q_proj.lora_B" in message


def test_an_adapter_with_a_renamed_tensor_is_refused(tmp_path: Path) -> None:
    def rename(tensors: dict[str, Any]) -> None:
        key = next(key for key in tensors if "custom_text_proj.lora_A" in key)
        tensors[key.replace("custom_text_proj", "custom_text_projection")] = tensors.pop(key)

    message = refused(edit_tensors(copy_of(adapter("qwen2_5_vl"), tmp_path / "x"), rename))
    assert "1 missing: custom_text_proj.lora_A" in message
    assert "1 not of this model: custom_text_projection.lora_A" in message


def test_an_adapter_with_the_names_of_an_earlier_release_is_the_same_model(tmp_path: Path) -> None:
    def old_names(tensors: dict[str, Any]) -> None:
        for key in [key for key in tensors if "language_model.layers" in key]:
            tensors[key.replace("language_model.layers", "model.layers")] = tensors.pop(key)

    folder = edit_tensors(copy_of(adapter("qwen2_vl"), tmp_path / "x"), old_names)
    old, new = (load_model(str(path), device="cpu").model for path in (folder, adapter("qwen2_vl")))
    for (name, values), (_, expected) in zip(old.named_parameters(), new.named_parameters(), strict=True):
        assert (values == expected).all(), name


@pytest.mark.parametrize("family", ["qwen2_vl", "qwen2_5_vl"])
def test_a_checkpoint_in_the_layout_of_an_earlier_release_is_the_same_model(
    family: str, tmp_path: Path
) -> None:
    import torch

    def old_names(tensors: dict[str, Any]) -> None:
        for key in [key for key in tensors if key.startswith("language_model.")]:
            tensors[key.replace("language_model.", "model.", 1)] = tensors.pop(key)

    folder = edit_tensors(copy_of(merged(family), tmp_path / "x"), old_names)
    config = json.loads((folder / "config.json").read_text())
    text = config.pop("text_config")
    rope = text.pop("rope_parameters")
    flat = {**{key: value for key, value in text.items() if key != "model_type"}, **config}
    flat["rope_theta"] = rope["rope_theta"]
    flat["rope_scaling"] = {"type": "mrope", "mrope_section": rope["mrope_section"]}
    (folder / "config.json").write_text(json.dumps(flat))
    old, new = load_model(str(folder), device="cpu"), load_model(str(merged(family)), device="cpu")
    batch = new.processor.process_images([picture(100, 120, 0)])
    with torch.no_grad():
        assert (old.model(**batch) == new.model(**batch)).all()


@pytest.mark.parametrize("size", [{"max_pixels": 602112, "min_pixels": 3136}, {}])
def test_the_visual_tokens_are_limited_whatever_an_earlier_processor_says(
    size: dict[str, int], tmp_path: Path
) -> None:
    folder = copy_of(merged("qwen2_5_vl"), tmp_path / "x")
    (folder / "processor_config.json").unlink()
    about = {
        "image_processor_type": "Qwen2VLImageProcessor",
        "processor_class": "ColQwen2_5_Processor",
        "patch_size": 14,
        "merge_size": 2,
        "temporal_patch_size": 2,
        "max_pixels": 12845056,
        "min_pixels": 3136,
        **({"size": size} if size else {}),
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(about))
    encoder = load_colqwen(str(folder), device="cpu", settings=ColQwenSettings(max_num_visual_tokens=256))
    assert encoder.encode_images(refs(1), [picture(1224, 1584, 0)])[0].vectors.shape == (14 * 18, 128)


@pytest.mark.parametrize(
    "family, old, new",
    [
        ("qwen2_vl", "model.layers.0.x", "language_model.layers.0.x"),
        ("qwen2_vl", "visual.blocks.0.x", "visual.blocks.0.x"),
        ("qwen3_vl", "model.language_model.layers.0.x", "language_model.layers.0.x"),
        ("paligemma", "model.language_model.model.layers.0.x", "model.model.language_model.layers.0.x"),
        ("paligemma", "model.model.language_model.layers.0.x", "model.model.language_model.layers.0.x"),
        ("idefics3", "model.text_model.layers.0.x", "model.text_model.layers.0.x"),
    ],
)
def test_names_in_adapters_of_earlier_releases_are_those_of_today(family: str, old: str, new: str) -> None:
    assert renamed(f"base_model.model.{old}", FAMILIES[family]) == new


def test_the_base_of_an_adapter_is_found_beside_it(tmp_path: Path) -> None:
    folder = copy_of(adapter("qwen2_vl"), tmp_path / "adapter")
    edit_json(folder / "adapter_config.json", base_model_name_or_path="someone/the-base")
    message = refused(folder)
    assert "is an adapter and needs its base" in message and "hf download someone/the-base" in message
    copy_of(merged("qwen2_vl"), tmp_path / "the-base")
    assert load_model(str(folder), device="cpu").dim == 128


def test_a_model_that_is_not_in_the_cache_is_told_in_one_line() -> None:
    with pytest.raises(InputError) as caught:
        load_model("vidore/colqwen2.5-v0.2", device="cpu")
    message = str(caught.value)
    for part in ("vidore/colqwen2.5-v0.2", "hub", "HF_HUB_OFFLINE", "hf download", "give its path"):
        assert part in message
    assert "\n" not in message


def test_a_model_in_the_local_cache_is_found_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = tmp_path / "models--someone--tiny"
    commit = "0123456789abcdef0123456789abcdef01234567"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(commit)
    copy_of(merged("qwen2_vl"), repository / "snapshots" / commit)
    real = checkpoints.snapshot_in_cache
    monkeypatch.setattr(checkpoints, "snapshot_in_cache", lambda name: real(name, cache=tmp_path))
    assert (
        load_model("someone/tiny", device="cpu").digest
        == load_model(str(merged("qwen2_vl")), device="cpu").digest
    )


def test_a_hub_that_cannot_be_asked_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import huggingface_hub

    def ask(name: str, *, local_files_only: bool = False, **_: Any) -> str:
        if local_files_only:
            raise huggingface_hub.errors.LocalEntryNotFoundError("not here")
        raise ConnectionError("no route\nto the hub")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", ask)
    monkeypatch.setattr(huggingface_hub, "is_offline_mode", lambda: False)
    with pytest.raises(InputError, match="the hub could not be asked: .*hf download") as caught:
        load_model("someone/tiny", device="cpu")
    assert "\n" not in str(caught.value)
    assert "fetching it" in caplog.text


def test_a_model_is_fetched_where_the_hub_may_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    def ask(name: str, *, local_files_only: bool = False, **_: Any) -> str:
        if local_files_only:
            raise huggingface_hub.errors.LocalEntryNotFoundError("not here")
        return str(merged("qwen2_vl"))

    monkeypatch.setattr(huggingface_hub, "snapshot_download", ask)
    monkeypatch.setattr(huggingface_hub, "is_offline_mode", lambda: False)
    assert load_model("someone/tiny", device="cpu").name == "someone/tiny"


@pytest.mark.parametrize("name", ["no/such/folder", "./missing", "nothing", "not a name/x y"])
def test_a_folder_that_is_not_there_is_told(name: str) -> None:
    with pytest.raises(InputError, match="there is no such folder"):
        load_model(name, device="cpu")


def test_pickled_weights_are_not_read(tmp_path: Path) -> None:
    folder = copy_of(merged("qwen2_vl"), tmp_path / "x")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    message = refused(folder)
    assert "lacks model.safetensors" in message and "pickled" in message


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    folder = copy_of(merged("qwen2_vl"), tmp_path / "x")
    index = {"metadata": {}, "weight_map": {PROJECTION: "model-00002-of-00002.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    assert "lacks model-00002-of-00002.safetensors" in refused(folder)


@pytest.mark.parametrize(
    "content", [b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", b"", None]
)
def test_damaged_weights_are_told(content: bytes | None, tmp_path: Path) -> None:
    folder = copy_of(merged("qwen2_vl"), tmp_path / "x")
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1000] if content is None else content)
    assert "damaged or no safetensors" in refused(folder)


def test_an_unknown_model_type_a_bi_encoder_and_foreign_formats_are_refused(tmp_path: Path) -> None:
    folder = copy_of(merged("qwen2_vl"), tmp_path / "x")
    for values, told in (
        ({"model_type": "qwen2_v"}, "did you mean 'qwen2_vl'"),
        ({"model_type": "bert"}, "is not among"),
        ({"model_type": "colqwen2"}, "without -hf"),
        ({"model_type": "colqwen3"}, "never run"),
        ({"architectures": ["BiQwen2"], "model_type": "qwen2_vl"}, "one vector a page"),
    ):
        edit_json(folder / "config.json", **values)
        assert told in refused(folder)


def test_a_checkpoint_that_wants_its_own_code_never_runs_it(tmp_path: Path) -> None:
    folder = copy_of(merged("qwen2_vl"), tmp_path / "x")
    trap = tmp_path / "trap"
    (folder / "code.py").write_text(f"open({str(trap)!r}, 'w')\nclass Model: pass\nclass Tokens: pass\n")
    edit_json(folder / "config.json", auto_map={"AutoModel": "code.Model"})
    edit_json(folder / "tokenizer_config.json", auto_map={"AutoTokenizer": ["code.Tokens", None]})
    try:
        load_model(str(folder), device="cpu")
    except InputError as error:
        assert "processor cannot be loaded" in str(error)
    assert not trap.exists()


def test_a_processor_that_is_missing_is_told(tmp_path: Path) -> None:
    folder = copy_of(merged("qwen2_vl"), tmp_path / "x")
    for name in ("tokenizer.json", "tokenizer_config.json", "processor_config.json"):
        (folder / name).unlink()
    assert "its processor cannot be loaded" in refused(folder)


def test_an_adapter_without_a_processor_takes_that_of_its_base(tmp_path: Path) -> None:
    folder = copy_of(adapter("qwen2_vl"), tmp_path / "x")
    for name in ("tokenizer.json", "tokenizer_config.json", "processor_config.json"):
        (folder / name).unlink()
    assert len(load_model(str(folder), device="cpu").processor.tokenizer) > 100


def test_the_digest_follows_the_weights_and_not_the_place(tmp_path: Path) -> None:
    same = copy_of(merged("qwen2_vl"), tmp_path / "elsewhere")
    digest = load_model(str(merged("qwen2_vl")), device="cpu").digest
    assert load_model(str(same), device="cpu").digest == digest
    assert load_model(str(merged("qwen2_vl", seed=5)), device="cpu").digest != digest
    moved = copy_of(adapter("qwen2_vl"), tmp_path / "adapter")
    shutil.copytree(merged("qwen2_vl"), tmp_path / merged("qwen2_vl").name)
    edit_json(moved / "adapter_config.json", base_model_name_or_path=str(tmp_path / merged("qwen2_vl").name))
    assert (
        load_model(str(moved), device="cpu").digest
        == load_model(str(adapter("qwen2_vl")), device="cpu").digest
    )


def test_devices_that_are_not_there_are_refused_and_a_fallback_is_said_aloud(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert choose_device(None) == ("cpu", torch.float32)
    assert "no GPU found" in caplog.text
    caplog.clear()
    assert choose_device("cpu") == ("cpu", torch.float32)
    assert not caplog.text
    for asked in ("cuda", "cuda:1", "mps"):
        with pytest.raises(InputError, match="does not see it"):
            choose_device(asked)
    for asked in ("gpu", "cpu:0", "cuda:x", ""):
        with pytest.raises(InputError, match="expected cuda"):
            choose_device(asked)


def test_a_gpu_is_taken_where_there_is_one_in_bfloat16_if_it_can(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    for able, expected in ((True, torch.bfloat16), (False, torch.float32)):
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda able=able, **_: able)
        assert choose_device(None) == ("cuda", expected)
        assert choose_device("cuda:1") == ("cuda:1", expected)
        assert ("no bfloat16" in caplog.text) is not able
    with pytest.raises(InputError, match="does not see it"):
        choose_device("cuda:2")


def test_torchvision_is_importable_whatever_its_build_and_importing_sets_up_no_logging() -> None:
    import logging

    import torch

    handlers = list(logging.root.handlers)
    import_colpali()
    import torchvision

    assert logging.root.handlers == handlers
    assert torchvision.__version__ == torchvision_version()
    needed = torch.version.cuda is None and "+cu" in torchvision_version()
    assert make_torchvision_importable() is make_torchvision_importable() is needed


def test_the_command_writes_a_checkpoint_and_an_adapter_and_overwrites_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from eval.random_checkpoint import main

    model, over = tmp_path / "model", tmp_path / "over"
    assert main([str(model), "--family", "qwen3_vl", "--adapter", str(over)]) == 0
    assert capfd.readouterr().err == ""
    for folder in (model, over):
        assert load_model(str(folder), device="cpu").dim == 320
    with pytest.raises(InputError, match="not empty"):
        main([str(model)])


def test_a_random_checkpoint_is_written_into_an_empty_folder_only(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept", encoding="utf-8")
    new = str(tmp_path / "new")
    for arguments in ([str(tmp_path)], [str(tmp_path / "file")], [new, "--adapter", str(tmp_path)]):
        with pytest.raises(InputError, match="name another folder"):
            write_command(arguments)
    assert (tmp_path / "file").read_text(encoding="utf-8") == "kept"
    assert not list((tmp_path / "new").iterdir())
