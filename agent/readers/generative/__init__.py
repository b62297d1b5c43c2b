"""A reader that is a model: any `agent.models.Model` under prompts, within its context."""

from agent.readers.generative.reader import GenerativeReader

__all__ = ["GenerativeReader"]
