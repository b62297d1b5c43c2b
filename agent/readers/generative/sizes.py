"""Budgets of a request, computed before the call so that it and its reply fit into the model's context."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agent.config import View
from agent.models import Model
from agent.readers.generative.replies import RETRY_TOKENS

TEMPLATE = 64  # tokens that a chat template and the seams between the pieces may add
SCHEMA_WORDS = 32  # around a schema that is said in words


@dataclass(frozen=True, slots=True)
class Sizes:
    """How a model's context is shared out, in tokens.

    Attributes:
        reply: that a reply may have.
        ledger: for the facts so far.
        outline: for the outline.
    """

    model: Model
    reply: int
    ledger: int
    outline: int

    @classmethod
    def of(cls, model: Model, view: View) -> "Sizes":
        """A quarter of the context at most for the reply, a fifth for the ledger, a tenth for the outline."""
        context = model.context
        return cls(model, min(view.reply_tokens, context // 4), context // 5, context // 10)

    def room(self, system: str, schema: Mapping[str, Any] | None, *fixed: str) -> int:
        """Tokens left for what varies; the instructions, the schema in words and the reply are set aside."""
        count = self.model.text_tokens
        spent = count(system) + sum(map(count, fixed)) + TEMPLATE + RETRY_TOKENS
        if schema is not None:
            spent += count(json.dumps(dict(schema))) + SCHEMA_WORDS
        return max(0, self.model.context - self.reply - spent)
