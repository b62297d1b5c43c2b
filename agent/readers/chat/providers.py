"""LangChain's chat models: how each is made, asked for JSON, and read."""

import base64
import io
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from agent.config import Endpoint
from agent.models import Picture, Request, StopKind
from indexes.errors import InputError

HOMES = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com",
    "google": "https://generativelanguage.googleapis.com",
}
KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "google": "GOOGLE_API_KEY"}
OTHER_KEY = "PAGETRAIL_API_KEY"
MODES = {"openai": ("schema", "tool", "json"), "anthropic": ("tool", "json"), "google": ("schema", "json")}
TOOL = "reply"
_STOPS: dict[str, StopKind] = {
    "length": "length",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "refusal",
    "refusal": "refusal",
    "safety": "refusal",
    "recitation": "refusal",
    "prohibited_content": "refusal",
    "blocklist": "refusal",
}


@dataclass(frozen=True, slots=True)
class Reply:
    """What an endpoint said; token counts are None where it doesn't tell them."""

    text: str
    stop: StopKind
    prompt_tokens: int | None
    completion_tokens: int | None


def key_name(endpoint: Endpoint) -> str:
    """The environment variable that holds the key. A provider's key is never sent to another `base_url`."""
    return endpoint.key_env or (OTHER_KEY if endpoint.base_url else KEYS[endpoint.provider])


def find_key(endpoint: Endpoint) -> str | None:
    """The key, None where a server of one's own needs none.

    Raises:
        InputError: a provider's own API is asked and its key is not set, or the one named is not.
    """
    name = key_name(endpoint)
    key = os.environ.get(name, "").strip()
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise InputError(f"the key in ${name} holds characters that no key has: set it anew")
    if not key and (endpoint.key_env or not endpoint.base_url):
        raise InputError(f"no key for {where(endpoint)}: set the environment variable {name}")
    return key or None


def where(endpoint: Endpoint) -> str:
    """The address that is called."""
    return (endpoint.base_url or HOMES[endpoint.provider]).rstrip("/")


def make_client(model: str, endpoint: Endpoint) -> Any:
    """A LangChain chat model without retries of its own, reading nothing from the environment but proxies.

    Raises:
        InputError: its package is not installed, or there is no key.
    """
    key = find_key(endpoint)
    try:
        maker = {"openai": _openai, "anthropic": _anthropic, "google": _google}[endpoint.provider]
        return maker(model, endpoint, key or "none")
    except ImportError as error:
        raise InputError(
            f"provider {endpoint.provider!r}: {error.name or error} is missing; pip install 'pagetrail[chat]'"
        ) from error


def _openai(model: str, endpoint: Endpoint, key: str) -> Any:
    import openai
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    local = urlsplit(where(endpoint)).hostname in ("127.0.0.1", "localhost", "::1")
    client = ChatOpenAI(
        model=model,
        base_url=where(endpoint),
        api_key=SecretStr(key),
        temperature=endpoint.temperature,
        seed=endpoint.seed,
        timeout=endpoint.timeout,
        max_retries=0,
        streaming=endpoint.stream,
        stream_usage=endpoint.stream,
        use_responses_api=False,
        cache=False,
        openai_proxy="",
        # A proxy of the environment is for addresses outside this machine; a page and a key are for nobody
        # to whom an endpoint passes a request on.
        http_client=openai.DefaultHttpxClient(
            trust_env=not local, timeout=endpoint.timeout, follow_redirects=False
        ),
    )
    if endpoint.base_url:  # names of an account at another provider
        client.root_client.organization = client.root_client.project = None
    return client


def _anthropic(model: str, endpoint: Endpoint, key: str) -> Any:
    from langchain_anthropic import ChatAnthropic
    from pydantic import SecretStr

    client = ChatAnthropic(
        model_name=model,
        base_url=where(endpoint),
        api_key=SecretStr(key),
        temperature=endpoint.temperature,
        timeout=endpoint.timeout,
        stop=None,
        max_retries=0,
        streaming=endpoint.stream,
        cache=False,
    )
    client._client._client.follow_redirects = False  # LangChain offers no other way
    return client


def _google(model: str, endpoint: Endpoint, key: str) -> Any:
    from langchain_google_genai import ChatGoogleGenerativeAI
    from pydantic import SecretStr

    return ChatGoogleGenerativeAI(
        model=model,
        base_url=endpoint.base_url,
        google_api_key=SecretStr(key),
        vertexai=False,
        temperature=endpoint.temperature,
        seed=endpoint.seed,
        timeout=endpoint.timeout,
        max_retries=1,  # the first try; 0 stands for the library's default
        client_args={"follow_redirects": False},  # it would send the key along
        streaming=endpoint.stream,
        cache=False,
    )


def messages(request: Request, mode: str) -> list[Any]:
    """The request as LangChain messages; in mode `json` the schema is said in words."""
    from langchain_core.messages import HumanMessage, SystemMessage

    parts: list[str | dict[Any, Any]] = [
        {"type": "text", "text": _encodable(part)}
        if isinstance(part, str)
        else {"type": "image_url", "image_url": {"url": _data_url(part)}}
        for part in request.content
    ]
    if request.schema is not None and mode == "json":
        parts.append({"type": "text", "text": schema_in_words(request.schema)})
    only_text = all(isinstance(part, dict) and part["type"] == "text" for part in parts)
    if only_text:  # some servers take a list of parts only where there are pictures
        human = HumanMessage("\n\n".join(str(part["text"]) for part in parts if isinstance(part, dict)))
    else:
        human = HumanMessage(parts)
    return [SystemMessage(_encodable(request.system)), human] if request.system else [human]


def _encodable(text: str) -> str:
    """A text without halves of surrogate pairs, which no request can carry."""
    return text.encode("utf-8", "replace").decode("utf-8")


def schema_in_words(schema: Mapping[str, Any]) -> str:
    """What a model that isn't held to a schema is told."""
    return f"Reply with one JSON object and nothing else, by this JSON schema:\n{json.dumps(schema)}"


def png(picture: Picture) -> bytes:
    """A picture as it is sent: without loss."""
    out = io.BytesIO()
    picture.image.convert("RGB").save(out, format="PNG")
    return out.getvalue()


def _data_url(picture: Picture) -> str:
    return "data:image/png;base64," + base64.b64encode(png(picture)).decode("ascii")


def options(request: Request, endpoint: Endpoint, mode: str) -> dict[str, Any]:
    """What the call is given beside its messages."""
    schema = None if request.schema is None or mode == "json" else dict(request.schema)
    if endpoint.provider == "google":
        given: dict[str, Any] = {"max_output_tokens": request.max_tokens}
        if schema is not None:
            given |= {"response_mime_type": "application/json", "response_json_schema": schema}
        return given
    if endpoint.provider == "anthropic":
        given = {"max_tokens": request.max_tokens}
        if schema is not None:
            tool = {"name": TOOL, "description": "Gives the reply.", "input_schema": schema}
            given |= {"tools": [tool], "tool_choice": {"type": "tool", "name": TOOL}}
        return given
    return _openai_options(request.max_tokens, schema, endpoint, mode)


def _openai_options(
    length: int, schema: dict[str, Any] | None, endpoint: Endpoint, mode: str
) -> dict[str, Any]:
    # LangChain sends `max_tokens` under a newer name, which other servers than OpenAI's may not know, and
    # parses a reply by schema itself, raising where it was cut: what is in `extra_body` it leaves alone.
    body: dict[str, Any] = {"max_tokens": length} if endpoint.base_url else {}
    given: dict[str, Any] = {} if endpoint.base_url else {"max_tokens": length}
    if schema is not None and mode == "schema":
        described = {"name": TOOL, "schema": schema, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": described}
    elif schema is not None:
        function = {"name": TOOL, "description": "Gives the reply.", "parameters": schema}
        given["tools"] = [{"type": "function", "function": function}]
        given["tool_choice"] = {"type": "function", "function": {"name": TOOL}}
    return given | ({"extra_body": body} if body else {})


def read_message(message: Any) -> Reply:
    """What a LangChain message says."""
    text, meta = str(message.text), message.response_metadata
    if message.tool_calls:
        text = json.dumps(message.tool_calls[0]["args"])
    elif getattr(message, "invalid_tool_calls", None):
        text = str(message.invalid_tool_calls[0]["args"] or "")
    reason = str(meta.get("finish_reason") or meta.get("stop_reason") or "").lower()
    stop = _STOPS.get(reason, "stop")
    refusal = message.additional_kwargs.get("refusal")
    if refusal:
        text, stop = text or str(refusal), "refusal"
    usage = message.usage_metadata or {}
    return Reply(text, stop, _count(usage.get("input_tokens")), _count(usage.get("output_tokens")))


def _count(told: Any) -> int | None:
    """A number of tokens; None for what can be none."""
    return told if isinstance(told, int) and told >= 0 else None
