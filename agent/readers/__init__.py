"""Readers by name, and the models that two of them read with."""

from collections.abc import Callable

from agent.config import Config
from agent.models import Model
from agent.types import Reader
from indexes.encoders.protocol import Encoder
from indexes.errors import InputError


def _extractive(config: Config, encoder: Encoder | None) -> Reader:
    from agent.readers.extractive import ExtractiveReader

    return ExtractiveReader(encoder)


def _generative(config: Config, encoder: Encoder | None) -> Reader:
    from agent.readers.generative import GenerativeReader

    return GenerativeReader(load_model(config), config.view, name=config.reader)


READERS: dict[str, Callable[[Config, Encoder | None], Reader]] = {
    "chat": _generative,
    "extractive": _extractive,
    "qwen": _generative,
}


def load_reader(config: Config, encoder: Encoder | None = None) -> Reader:
    """Makes the reader that a config names.

    Args:
        config: the run's.
        encoder: compares texts with each other, for a reader that does; None where there is none.

    Raises:
        InputError: there is no reader of that name, or its model cannot be had.
    """
    if config.reader not in READERS:
        raise InputError(
            f"reader {config.reader!r}: there is none of that name; there are {', '.join(sorted(READERS))}"
        )
    return READERS[config.reader](config, encoder)


def _chat_model(config: Config) -> Model:
    from agent.readers.chat import ChatModel

    return ChatModel(_named(config), config.endpoint, config.view)


def _qwen_model(config: Config) -> Model:
    from agent.readers.qwen import load_qwen

    return load_qwen(_named(config), config.view, device=config.device)


MODELS: dict[str, Callable[[Config], Model]] = {"chat": _chat_model, "qwen": _qwen_model}


def load_model(config: Config) -> Model:
    """Makes the model that a config's reader reads with.

    Raises:
        InputError: the reader is no model, the config names none, or it cannot be had.
    """
    if config.reader not in MODELS:
        raise InputError(f"reader {config.reader!r} is no model; those are {', '.join(sorted(MODELS))}")
    return MODELS[config.reader](config)


def _named(config: Config) -> str:
    if config.reader_model is None:
        raise InputError(f"reader {config.reader!r} needs a model: set reader_model in the config")
    return config.reader_model
