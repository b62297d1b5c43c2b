"""Lists that stand in answers as text: parsed as literals within bounds, never run as code."""

import ast

MAX_CHARACTERS = 20_000


def literal(text: str) -> object:
    """The value that a Python literal says.

    Raises:
        ValueError: it is no literal, or longer than an answer can be.
    """
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"{len(text)} characters: too long for an answer")
    try:
        value: object = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError(f"no literal ({type(error).__name__})") from error
    return value
