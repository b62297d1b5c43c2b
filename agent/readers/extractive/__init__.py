"""The embedded reader: finds the sentences, rows and cells that answer, by rules, without a model."""

from agent.readers.extractive.reader import ExtractiveReader

__all__ = ["ExtractiveReader"]
