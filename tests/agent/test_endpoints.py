"""The chat model against a scripted server on a real socket: faults, keys, limits, cache, costs."""

import json
import re
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from scripted_server import Action, Drops, Fails, Hangs, Says, ScriptedServer, Sends, said_to, serving

from agent.config import Endpoint, View
from agent.models import ModelError, Picture, Request
from agent.readers.chat import ChatModel, patience
from agent.readers.chat.patience import retry_after, wait_before
from agent.readers.generative.replies import ask as ask_model
from indexes.errors import InputError

SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}},
    "required": ["a"],
    "additionalProperties": False,
}
ASK = Request("read", "# Read", ("What is a?",), SCHEMA, 100)
KEY = "sk-test-4711-geheim"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("OPENAI_API_KEY", "PAGETRAIL_API_KEY", "OPENAI_BASE_URL", "OPENAI_PROXY", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PAGETRAIL_CACHE", str(tmp_path / "cache"))


def model(server: ScriptedServer, waits: list[float] | None = None, **dials: Any) -> ChatModel:
    endpoint = Endpoint(**{"base_url": server.base_url, "cache": False, "timeout": 5.0, **dials})
    return ChatModel("m", endpoint, View(), sleep=(waits if waits is not None else []).append)


def test_a_reply_comes_with_its_tokens_and_its_cost() -> None:
    with serving([Says({"a": 3})]) as server:
        reply = model(server, price_in=2.0, price_out=10.0).complete(ASK)
    assert json.loads(reply.text) == {"a": 3} and reply.stop == "stop" and not reply.cached
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.calls) == (100, 10, 1)
    assert reply.usage.cost == pytest.approx((100 * 2 + 10 * 10) / 1e6)
    body = server.requests[0]
    assert body["model"] == "m" and body["max_tokens"] == 100 and body["temperature"] == 0
    assert body["response_format"]["json_schema"]["schema"] == SCHEMA and not body.get("stream")


def test_an_endpoint_that_counts_nothing_is_counted_by_the_estimate() -> None:
    with serving([Says({"a": 3}, usage=False)]) as server:
        reply = model(server).complete(ASK)
    assert reply.usage.prompt_tokens > 10 and reply.usage.completion_tokens > 0


def test_counts_that_cannot_be_are_not_taken() -> None:
    whole: dict[str, Any] = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
    whole["choices"] = [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "{}"}}
    ]
    whole["usage"] = {"prompt_tokens": -100, "completion_tokens": -5, "total_tokens": -105}
    with serving([Sends(json.dumps(whole).encode())]) as server:
        usage = model(server, price_in=1.0).complete(ASK).usage
    assert usage.prompt_tokens > 10 and usage.completion_tokens > 0 and usage.cost > 0


def test_a_stream_gives_the_same_reply() -> None:
    with serving([Says({"a": 3})]) as server:
        reply = model(server, stream=True).complete(ASK)
    assert json.loads(reply.text) == {"a": 3} and reply.usage.prompt_tokens == 100
    assert server.requests[0]["stream"] is True


@pytest.mark.parametrize("status", [429, 500, 502, 503, 529])
def test_what_may_pass_is_tried_again(status: int) -> None:
    waits: list[float] = []
    with serving([Fails(status), Fails(status), Says({"a": 1})]) as server:
        assert json.loads(model(server, waits).complete(ASK).text) == {"a": 1}
    assert len(server.requests) == 3 and 0.5 <= waits[0] <= 1.0 <= waits[1] <= 2.0


def test_retry_after_is_honoured_within_bounds() -> None:
    waits: list[float] = []
    storm: list[Action] = [
        Fails(429, headers={"Retry-After": "7"}),
        Fails(429, headers={"Retry-After": "999999"}),
        Fails(503, headers={"Retry-After": "soon"}),
        Says({"a": 1}),
    ]
    with serving(storm) as server:
        model(server, waits).complete(ASK)
    assert 7.0 <= waits[0] <= 8.0 and 120.0 <= waits[1] <= 121.0 and 2.0 <= waits[2] <= 4.0
    assert retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0 and retry_after("nan") is None
    for header in ("-5", "-inf", "0", "Mon, 01 Jan 0001 00:00:00 GMT"):
        assert retry_after(header) == 0.0
    for header in ("", "soon", "7, 8", "Wed, 99 Oct 2015 07:28:00 GMT", f"21 Oct 2015 07:28:00 +{'9' * 20}"):
        assert retry_after(header) is None
    for header in ("inf", "1e400", "Fri, 31 Dec 9999 23:59:59 GMT"):
        assert 120.0 <= wait_before(1, retry_after(header)) <= 121.0
    assert len({wait_before(1, 20.0) for _ in range(9)}) == 9  # not all at once
    assert max(wait_before(n, None) for n in range(1, 40)) <= 60.0


def test_a_header_that_no_clock_can_hold_does_not_end_the_tries() -> None:
    odd = {"Retry-After": f"Wed, 21 Oct 2015 07:28:00 +{'9' * 20}"}
    with serving([Fails(429, headers=odd), Says({"a": 1})]) as server:
        assert json.loads(model(server).complete(ASK).text) == {"a": 1}


def test_half_a_character_in_a_text_is_sent_as_a_question_mark() -> None:
    with serving([Says({"a": 1})]) as server:
        model(server, retries=0).complete(Request("judge", "# \udc00", ("What is \ud800a?",), SCHEMA, 100))
    assert said_to(server.requests[0]).startswith("# ?") and "What is ?a?" in said_to(server.requests[0])


def test_errors_that_name_each_other_as_their_cause_are_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = RuntimeError("one"), RuntimeError("two")
    one.__cause__, two.__cause__ = two, one
    asked = ChatModel("m", Endpoint(base_url="http://127.0.0.1:1/v1", cache=False, retries=1), sleep=_no_wait)

    def fails(request: Request, mode: str) -> Any:
        raise one

    monkeypatch.setattr(asked, "_once", fails)
    with pytest.raises(ModelError, match="no reply after 2 tries: RuntimeError: one"):
        asked.complete(ASK)


def _no_wait(seconds: float) -> None:
    return None


def test_a_storm_without_end_ends_with_one_line() -> None:
    waits: list[float] = []
    with serving([Fails(429, "slow down")]) as server:
        with pytest.raises(ModelError, match="no reply after 4 tries: .*slow down") as caught:
            model(server, waits, retries=3).complete(ASK)
    assert len(server.requests) == 4 and len(waits) == 3 and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "said"),
    [(401, r"401: the key in \$PAGETRAIL_API_KEY is not accepted"), (403, "403"), (404, "model 'm'")],
)
def test_what_a_user_must_put_right_fails_at_once_without_the_key(
    monkeypatch: pytest.MonkeyPatch, status: int, said: str
) -> None:
    monkeypatch.setenv("PAGETRAIL_API_KEY", KEY)
    with serving([Fails(status, f"wrong: {KEY}")]) as server:
        with pytest.raises(InputError, match=said) as caught:
            model(server).complete(ASK)
    assert len(server.requests) == 1 and KEY not in str(caught.value) and "\n" not in str(caught.value)
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


def test_an_account_without_quota_is_not_asked_again() -> None:
    with serving([Fails(429, "insufficient_quota: add a card")]) as server:
        with pytest.raises(InputError, match="no quota"):
            model(server).complete(ASK)
    assert len(server.requests) == 1


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("trickle", [False, True])
def test_a_stalled_or_trickling_reply_times_out(stream: bool, trickle: bool) -> None:
    start = time.monotonic()
    with serving([Hangs(30, trickle), Says({"a": 1})]) as server:
        reply = model(server, timeout=0.5, stream=stream).complete(ASK)
    assert json.loads(reply.text) == {"a": 1} and time.monotonic() - start < 15


def test_lost_connections_and_replies_that_are_no_completion_are_tried_again() -> None:
    faults: list[Action] = [Drops(), Sends(b"<html>bad gateway</html>"), Sends(b'{"choices": null}')]
    with serving([*faults, Says({"a": 1})]) as server:
        assert json.loads(model(server).complete(ASK).text) == {"a": 1}
    with serving([Sends(b"")]) as server:
        with pytest.raises(ModelError, match="no reply after 2 tries"):
            model(server, retries=1).complete(ASK)


@pytest.mark.parametrize("retries", [0, 5])
def test_a_server_that_is_not_there_is_one_line(retries: int) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    endpoint = Endpoint(base_url=f"http://127.0.0.1:{port}/v1", cache=False, retries=retries)
    with pytest.raises(InputError, match=f"127.0.0.1:{port}/v1: cannot be reached: .*is the server running"):
        ChatModel("m", endpoint, sleep=lambda seconds: None).complete(ASK)


def test_refusals_cut_and_empty_replies_are_told_apart() -> None:
    with serving([Says("", refusal="I won't.")]) as server:
        reply = model(server).complete(ASK)
        assert (reply.stop, reply.text) == ("refusal", "I won't.")
    with serving([Says("x", finish="content_filter")]) as server:
        assert model(server).complete(ASK).stop == "refusal"
    with serving([Says('{"a": [1, 2', finish="length")]) as server:
        reply = model(server).complete(ASK)
        assert (reply.stop, reply.text) == ("length", '{"a": [1, 2')
    with serving([Says("")]) as server:
        assert model(server).complete(ASK).text == ""


def test_an_endpoint_without_schemas_is_asked_by_tool_then_in_words_and_remembered() -> None:
    def no_schema(body: dict[str, Any]) -> Action:
        return Fails(400, "response_format is unknown") if "response_format" in body else Says({"a": 5})

    with serving(no_schema) as server:
        asked = model(server)
        assert json.loads(asked.complete(ASK).text) == {"a": 5}
        assert json.loads(asked.complete(ASK).text) == {"a": 5}
    assert ["tools" in body for body in server.requests] == [False, True, True]

    def words_only(body: dict[str, Any]) -> Action:
        return Fails(422, "unknown field") if {"tools", "response_format"} & set(body) else Says('{"a": 6}')

    with serving(words_only) as server:
        asked = model(server)
        assert json.loads(asked.complete(ASK).text) == {"a": 6}
        asked.complete(ASK)
    assert len(server.requests) == 4 and '"properties"' in said_to(server.requests[-1])


def test_a_bad_request_in_every_way_is_a_model_error_and_changes_nothing() -> None:
    with serving([Fails(400, "temperature is not supported")]) as server:
        asked = model(server)
        with pytest.raises(ModelError, match=r"refused \(400\): .*temperature is not supported"):
            asked.complete(ASK)
        assert len(server.requests) == 3
        with pytest.raises(ModelError):
            asked.complete(ASK)
        assert "response_format" in server.requests[3]
    with serving([Fails(400, "maximum context length exceeded")]) as server:
        with pytest.raises(ModelError, match="context length"):
            model(server).complete(ASK)
    assert len(server.requests) == 1


def test_a_call_made_before_costs_nothing_until_something_of_it_differs(tmp_path: Path) -> None:
    red, blue = (Picture(Image.new("RGB", (56, 56), colour), "page 1") for colour in ("red", "blue"))
    with serving([Says({"a": 1})]) as server:
        first = model(server, cache=True, price_in=1.0)
        paid = first.complete(ASK)
        again = model(server, cache=True, price_in=1.0).complete(ASK)
        assert not paid.cached and paid.usage.cost > 0
        assert (
            again.cached and again.usage.cost == 0 and again.text == paid.text and len(server.requests) == 1
        )
        others = [
            Request("read", "# Read", ("What is a?", red), SCHEMA, 100),
            Request("read", "# Read", ("What is a?", blue), SCHEMA, 100),
            Request("read", "# Read", ("What is b?",), SCHEMA, 100),
            Request("read", "# Read!", ("What is a?",), SCHEMA, 100),
            Request("read", "# Read", ("What is a?",), SCHEMA, 101),
        ]
        for request in others:
            assert not first.complete(request).cached
        assert not model(server, cache=True, temperature=0.5).complete(ASK).cached
        assert not model(server, cache=True, seed=1).complete(ASK).cached
        kept = sorted((tmp_path / "cache" / "replies").rglob("*"))
        files = [path for path in kept if path.is_file()]
        assert len(files) == 8
        for file in files:
            file.write_bytes(file.read_bytes()[:-2])
        assert not first.complete(ASK).cached


def test_an_empty_reply_is_not_kept() -> None:
    with serving([Says(""), Says({"a": 1})]) as server:
        asked = model(server, cache=True)
        assert asked.complete(ASK).text == "" and json.loads(asked.complete(ASK).text) == {"a": 1}


def test_the_key_is_written_nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PAGETRAIL_API_KEY", KEY)
    with serving([Says({"a": 1})]) as server:
        asked = model(server, cache=True)
        asked.complete(ASK)
    assert KEY not in repr(asked.endpoint) + repr(vars(asked))
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert written and not any(KEY.encode() in path.read_bytes() for path in written)


def test_a_provider_s_key_is_not_sent_elsewhere_and_the_environment_moves_no_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-1")
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/other")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "OPENAI_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with serving([Says({"a": 1})]) as server:
        model(server).complete(ASK)
    assert server.headers[0]["authorization"] == "Bearer none"
    assert KEY not in str(server.headers) and "org-1" not in str(server.headers)
    assert "proj-1" not in str(server.headers)


def test_a_missing_key_is_said_before_anything_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="no key for https://api.openai.com/v1: set .*OPENAI_API_KEY"):
        ChatModel("gpt")
    with pytest.raises(InputError, match="ANTHROPIC_API_KEY"):
        monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
        ChatModel("claude", Endpoint(provider="anthropic"))
    with pytest.raises(InputError, match="MY_KEY"):
        ChatModel("m", Endpoint(base_url="http://127.0.0.1:1/v1", key_env="MY_KEY"))


def test_nothing_is_traced_to_anyone(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving([Says({"a": 1})]) as server, serving([Says("")]) as tracer:
        monkeypatch.setenv("LANGSMITH_TRACING", "true")
        for name in ("LANGSMITH", "LANGCHAIN"):
            monkeypatch.setenv(f"{name}_TRACING_V2", "true")
            monkeypatch.setenv(f"{name}_ENDPOINT", tracer.base_url.removesuffix("/v1"))
            monkeypatch.setenv(f"{name}_API_KEY", "lsv2_x")
        model(server).complete(ASK)
        time.sleep(1.0)
        assert len(server.requests) == 1 and not tracer.requests


def test_several_requests_are_asked_at_a_time_and_each_has_its_reply_or_its_error() -> None:
    def play(body: dict[str, Any]) -> Action:
        time.sleep(0.1)
        return Fails(400, "no") if "bad" in said_to(body) else Says({"a": len(said_to(body))})

    with serving(play) as server:
        asked = [Request("read", "# Read", (text,), SCHEMA, 100) for text in ("x", "bad", "xxx", "y")]
        replies = model(server, concurrency=3, structured="json").complete_all(asked)
    assert [isinstance(reply, ModelError) for reply in replies] == [False, True, False, False]
    assert server.at_once == 3


def test_no_more_calls_run_at_once_than_the_config_lets() -> None:
    def slow(body: dict[str, Any]) -> Action:
        time.sleep(0.1)
        return Says({"a": 1})

    with serving(slow) as server:
        asked = [model(server, concurrency=2) for _ in range(6)]
        threads = [threading.Thread(target=one.complete, args=(ASK,)) for one in asked]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(server.requests) == 6 and server.at_once == 2


def test_threads_that_call_an_endpoint_first_and_together_share_its_gate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Slow(patience.Gate):
        def __init__(self, at_a_time: int, a_minute: float | None) -> None:
            time.sleep(0.05)
            super().__init__(at_a_time, a_minute)

    monkeypatch.setattr(patience, "Gate", Slow)
    found: list[patience.Gate] = []
    threads = [
        threading.Thread(target=lambda: found.append(patience.gate("first", 2, None))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and len(set(map(id, found))) == 1


def test_calls_keep_to_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, passed = [100.0], []
    monkeypatch.setattr(patience.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(patience.time, "sleep", lambda seconds: clock.append(clock.pop() + seconds))
    gate = patience.Gate(2, 600.0)
    for busy in (0.0, 0.0, 0.03, 0.5, 0.0):
        with gate.passing():
            passed.append(round(clock[0] - 100.0, 6))
            clock[0] += busy
    assert passed == [0.0, 0.1, 0.2, 0.3, 0.8]
    assert patience.gate("a", 2, None) is patience.gate("a", 2, None) is not patience.gate("b", 2, None)


def test_pictures_are_sent_as_they_are() -> None:
    image = Image.new("RGB", (84, 56), "green")
    with serving([Says({"a": 1})]) as server:
        model(server).complete(Request("read", "# Read", ("look", Picture(image, "page 3")), SCHEMA))
    parts = server.requests[0]["messages"][1]["content"]
    assert [part["type"] for part in parts] == ["text", "image_url"]
    import base64
    import io

    url = parts[1]["image_url"]["url"]
    sent = Image.open(io.BytesIO(base64.b64decode(re.sub("^data:image/png;base64,", "", url))))
    assert sent.size == (84, 56) and sent.getpixel((3, 3)) == (0, 128, 0)


def test_replies_of_which_nothing_could_be_used_are_not_given_again() -> None:
    rubbish = [Says("I think it is 42."), Says("", refusal="I can't help."), Says("still no JSON")]
    with serving([rubbish[0], rubbish[2], rubbish[1], Says("once more"), Says({"a": 1})]) as server:
        for sent, value in ((2, None), (3, None), (5, {"a": 1}), (5, {"a": 1})):
            heard = ask_model(model(server, cache=True), ASK, dict)
            assert (len(server.requests), heard.value) == (sent, value)
    assert heard.usage.calls == 2 and heard.usage.cost == 0 and "asked again" in heard.notes[0]


def test_without_a_cache_or_its_files_there_is_nothing_to_forget() -> None:
    with serving([Says({"a": 1})]) as server:
        model(server).forget(ASK)
        kept = model(server, cache=True)
        kept.forget(ASK)
        assert not kept.complete(ASK).cached and kept.complete(ASK).cached
        model(server).forget(ASK)
        assert kept.complete(ASK).cached
        kept.forget(ASK)
        assert not kept.complete(ASK).cached
