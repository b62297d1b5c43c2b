"""A model behind an endpoint: any OpenAI-compatible server, Anthropic, Gemini, through LangChain."""

from agent.readers.chat.model import ChatModel

__all__ = ["ChatModel"]
