"""Anthropic and Gemini through their LangChain packages, against servers that speak their APIs."""

import json
from typing import Any

import pytest
from PIL import Image
from scripted_server import Action, Fails, Sends, serving

from agent.config import Endpoint, View
from agent.models import Picture, Request
from agent.readers.chat import ChatModel
from indexes.errors import InputError

KEY = "key-4711-geheim"
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}},
    "required": ["a"],
    "additionalProperties": False,
}
ASK = Request(
    "read", "# Read", ("What is a?", Picture(Image.new("RGB", (64, 64), "red"), "page 1")), SCHEMA, 100
)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    for name in ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, "for-elsewhere")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def claude(stop: str = "tool_use", **block: Any) -> Sends:
    block = block or {"type": "tool_use", "id": "t1", "name": "reply", "input": {"a": 3}}
    usage = {"input_tokens": 50, "output_tokens": 5}
    body = {"id": "m", "type": "message", "role": "assistant", "model": "claude", "content": [block]}
    return Sends(json.dumps(body | {"stop_reason": stop, "stop_sequence": None, "usage": usage}).encode())


def gemini(text: str, stop: str = "STOP") -> Sends:
    content = {"role": "model", "parts": [{"text": text}]}
    usage = {"promptTokenCount": 60, "candidatesTokenCount": 6, "totalTokenCount": 66}
    body = {"candidates": [{"content": content, "finishReason": stop, "index": 0}], "usageMetadata": usage}
    return Sends(json.dumps(body | {"modelVersion": "gemini"}).encode())


def model(provider: Any, address: str, waits: list[float]) -> ChatModel:
    endpoint = Endpoint(
        provider=provider,
        base_url=address.removesuffix("/v1"),
        key_env="MY_KEY",
        cache=False,
        timeout=5.0,
        price_in=1.0,
    )
    return ChatModel(provider, endpoint, View(), sleep=waits.append)


@pytest.mark.parametrize("provider", ["openai", "anthropic", "google"])
@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_neither_pages_nor_keys_follow_an_endpoint_that_passes_requests_on(
    provider: str, status: int
) -> None:
    with serving([Sends(b"{}")]) as other:
        moved = Fails(status, "moved", headers={"Location": f"{other.base_url}/chat/completions"})
        with serving([moved]) as server:
            with pytest.raises(InputError, match=f"{status}: requests are passed on to another address"):
                model(provider, server.base_url, []).complete(ASK)
        assert len(server.requests) == 1 and other.requests == []


def test_anthropic_is_asked_by_tool_and_its_stops_are_told_apart() -> None:
    waits: list[float] = []
    script: list[Action] = [
        Fails(529, "overloaded"),
        claude(),
        claude("max_tokens", type="text", text='{"a": 1'),
        claude("refusal", type="text", text="no"),
    ]
    with serving(script) as server:
        asked = model("anthropic", server.base_url, waits)
        reply = asked.complete(ASK)
        assert json.loads(reply.text) == {"a": 3} and reply.usage.prompt_tokens == 50 and len(waits) == 1
        assert asked.complete(ASK).stop == "length" and asked.complete(ASK).stop == "refusal"
    body = server.requests[0]
    assert body["tool_choice"]["name"] == "reply" and body["tools"][0]["input_schema"] == SCHEMA
    assert body["max_tokens"] == 100 and body["messages"][0]["content"][1]["type"] == "image"
    assert any(value.endswith(KEY) for value in server.headers[0].values())
    assert "elsewhere" not in str(server.headers)


def test_gemini_is_asked_by_schema_and_its_stops_are_told_apart() -> None:
    waits: list[float] = []
    script: list[Action] = [
        Fails(503, "overloaded", {"Retry-After": "9"}),
        gemini('{"a": 3}'),
        gemini('{"a": 1', "MAX_TOKENS"),
        gemini("", "SAFETY"),
    ]
    with serving(script) as server:
        asked = model("google", server.base_url, waits)
        reply = asked.complete(ASK)
        assert json.loads(reply.text) == {"a": 3} and reply.usage.prompt_tokens == 60 and len(waits) == 1
        assert asked.complete(ASK).stop == "length" and asked.complete(ASK).stop == "refusal"
    config = server.requests[0]["generationConfig"]
    assert config["responseMimeType"] == "application/json" and config["maxOutputTokens"] == 100
    assert "a" in json.dumps(config) and "inlineData" in json.dumps(server.requests[0]["contents"])
    assert server.headers[0]["x-goog-api-key"] == KEY and "elsewhere" not in str(server.headers)


@pytest.mark.parametrize("provider", ["anthropic", "google"])
@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_wrong_key_or_model_fails_at_once_with_one_line_without_the_key(provider: str, status: int) -> None:
    with serving([Fails(status, f"wrong {KEY}")]) as server:
        with pytest.raises(InputError) as caught:
            model(provider, server.base_url, []).complete(ASK)
    assert len(server.requests) == 1 and str(status) in str(caught.value) and KEY not in str(caught.value)
