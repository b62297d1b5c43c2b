"""The command-line options by which every command lets its encoder be chosen."""

import argparse
from typing import Any

from indexes.encoders import load_encoder
from indexes.encoders.protocol import PageEncoder

DEFAULT = "minilm"
_SETTINGS = ("model", "base", "device", "max_num_visual_tokens", "batch_size", "pool_factor")


def add_encoder_options(parser: argparse.ArgumentParser) -> None:
    """Adds `--encoder` and the settings of an encoder with a model of the user's choice."""
    group = parser.add_argument_group("encoder")
    group.add_argument(
        "--encoder",
        help="what embeds pages and queries: minilm or colqwen (default minilm)",
    )
    group.add_argument("--model", help="of colqwen: a folder, or a name such as vidore/colqwen2.5-v0.2")
    group.add_argument("--base", help="of a model that is an adapter: the folder of the model under it")
    group.add_argument("--device", help="of colqwen: cuda, cuda:1, mps or cpu (default: the best one)")
    group.add_argument("--max-num-visual-tokens", type=int, metavar="N", help="of colqwen: vectors a page")
    group.add_argument("--batch-size", type=int, metavar="N", help="of colqwen: pages at a time")
    group.add_argument(
        "--pool-factor",
        type=int,
        metavar="N",
        help="of colqwen: keep one vector for about N similar ones of a page (default 1: all)",
    )


def given_settings(options: argparse.Namespace) -> dict[str, Any]:
    """The settings of the encoder that were given."""
    given = {name: getattr(options, name) for name in _SETTINGS}
    return {key: value for key, value in given.items() if value is not None}


def encoder_of(options: argparse.Namespace) -> PageEncoder:
    """Loads the encoder that the options name.

    Raises:
        InputError: as `load_encoder` does.
    """
    return load_encoder(options.encoder or DEFAULT, **given_settings(options))
