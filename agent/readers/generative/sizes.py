"""Budgets of a request, computed before the call so that it and its reply fit into the model's context."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agent.config import View
from agent.models import Model, ModelError, Request

RETRY_TOKENS = 160
"""Tokens at most by which a second request, with the error, is longer than the first."""

TEMPLATE = 64  # tokens that a chat template and the seams between the pieces may add
SCHEMA_WORDS = 32  # around a schema that is said in words


@dataclass(frozen=True, slots=True)
class Sizes:
    """How a model's context is shared out, in tokens.

    Attributes:
        reply: that a reply may have.
        ledger: for the facts so far.
        outline: for the outline.
        pages: that the ledger and the outline leave for pages.
    """

    model: Model
    reply: int
    ledger: int
    outline: int
    pages: int

    @classmethod
    def of(cls, model: Model, view: View) -> "Sizes":
        """A quarter of the context for the reply at most, a fifth each for ledger and pages, a tenth else."""
        context = model.context
        return cls(model, min(view.reply_tokens, context // 4), context // 5, context // 10, context // 5)

    def room(self, system: str, schema: Mapping[str, Any] | None, *fixed: str) -> int:
        """Tokens left for what varies; the instructions, the schema in words and the reply are set aside."""
        count = self.model.text_tokens
        spent = count(system) + sum(map(count, fixed)) + TEMPLATE + RETRY_TOKENS
        if schema is not None:
            spent += count(json.dumps(dict(schema))) + SCHEMA_WORDS
        return max(0, self.model.context - self.reply - spent)


def tokens_of(model: Model, request: Request) -> int:
    """Tokens of a request and its reply at most."""
    total = model.text_tokens(request.system) + TEMPLATE + request.max_tokens
    for part in request.content:
        if isinstance(part, str):
            total += model.text_tokens(part)
        else:
            total += model.picture_tokens(*part.image.size)
    if request.schema is not None:
        total += model.text_tokens(json.dumps(dict(request.schema))) + SCHEMA_WORDS
    return total


def fits(model: Model, request: Request) -> bool:
    """Whether a request fits with its reply into the model's context, whatever made it."""
    return tokens_of(model, request) <= model.context


def check_fits(model: Model, request: Request) -> None:
    """Lets nothing be sent that does not fit.

    Raises:
        ModelError: it is too long.
    """
    if not fits(model, request):
        raise ModelError(
            f"{request.role}: {tokens_of(model, request)} tokens at most do not fit into a context of "
            f"{model.context}: ask a shorter question, or set view.context to what the model has"
        )
