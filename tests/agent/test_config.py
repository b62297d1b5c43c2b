"""Configs: frozen, few dials, mistakes named."""

from pathlib import Path

import pytest

from agent.config import Config, load_config, names
from agent.readers import MODELS, READERS
from indexes.errors import InputError


def test_the_default_config_comes_with_the_package() -> None:
    config = load_config("cpu")
    assert "cpu" in names() and (config.name, config.reader, config.encoder) == (
        "cpu",
        "extractive",
        "minilm",
    )
    with pytest.raises(ValueError):
        config.k = 9  # type: ignore[misc]


@pytest.mark.parametrize("name", names())
def test_every_config_that_comes_with_the_package_loads(name: str) -> None:
    config = load_config(name)
    assert config.name == name and config.reader in READERS
    assert (config.reader_model is not None) == (config.reader in MODELS)


def test_a_config_may_be_a_file_and_dials_replace_its_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("rounds: 2\nmax_seconds: 5\n")
    config = load_config(file, k=7, rounds=None)
    assert (config.name, config.rounds, config.k, config.max_seconds) == ("mine", 2, 7, 5.0)
    assert load_config(config, rounds=9).rounds == 9
    file.write_text("")
    assert load_config(file) == load_config(file)


def test_the_digest_is_of_the_dials_not_of_the_name() -> None:
    assert Config(name="a").digest == Config(name="b").digest != Config(k=5).digest


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("round: 3", "unknown key 'round'; did you mean 'rounds'?"),
        ("zzz: 3", "unknown key 'zzz'"),
        ("rounds: 0", "rounds is 0: input should be greater than or equal to 1"),
        ("k: many", "k is 'many'"),
        ("k: 2.5", "k is 2.5"),
        ("ocr: 3", "ocr is 3"),
        ("max_seconds: -1", "max_seconds is -1"),
        ("max_seconds: .nan", "max_seconds is nan"),
        ("endpoint: {base_ur: x}", "unknown key 'endpoint.base_ur'; did you mean 'base_url'?"),
        ("view: {zom: true}", "unknown key 'view.zom'; did you mean 'zoom'?"),
        ("endpoint: 3", "endpoint is 3"),
        ("endpoint: {base_url: ftp://x}", "endpoint.base_url: expected an address such as"),
        ("endpoint: {base_url: 'http://[::1/v1'}", "endpoint.base_url: expected an address such as"),
        ("endpoint: {base_url: 'http://x:99999/v1'}", "endpoint.base_url: expected an address such as"),
        ("endpoint: {base_url: 'http:///v1'}", "endpoint.base_url: expected an address such as"),
        ("endpoint: {price_in: .inf}", "endpoint.price_in is inf"),
        ("view: {box_frame: cm}", "view.box_frame is 'cm'"),
        ("endpoint: {key_env: sk-proj-4711}", "endpoint.key_env: expected the name of an environment"),
        ("endpoint: {base_url: 'https://me:4711@x/v1'}", "8000/v1, without a user, a password"),
        ("- a\n- b", "expected `key: value` lines"),
        ("a: [", "not YAML"),
        ("name: x", "unknown key 'name'"),
        ("rounds: 2020-99-99", "not YAML (month must be in 1..12)"),
        ('rounds: !!int "abc"', "not YAML"),
        ('rounds: !!timestamp "abc"', "not YAML"),
        ("rounds: " + "9" * 5000, "not YAML"),
        ("rounds: " + "[" * 2000, "not YAML"),
        ("rounds: [&a [x, x, x], &b [*a, *a, *a], &c [*b, *b, *b], [*c, *c, *c]]", "rounds is [["),
    ],
)
def test_a_mistake_in_a_config_is_one_line_that_names_it(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        load_config(file)
    assert said in str(caught.value) and str(file) in str(caught.value) and "\n" not in str(caught.value)
    assert "4711" not in str(caught.value)  # what may be a secret is not repeated


def test_an_unknown_config_names_its_neighbour_and_a_missing_file_its_path(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="did you mean 'cpu'"):
        load_config("cpuu")
    with pytest.raises(InputError, match=r"gone\.yaml: cannot be read"):
        load_config(tmp_path / "gone.yaml")
    with pytest.raises(InputError, match=r"--rounds 0: input should be"):
        load_config("cpu", rounds=0)
    with pytest.raises(InputError, match=r"unknown key 'rouds'"):
        load_config("cpu", rouds=1)
