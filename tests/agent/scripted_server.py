"""An OpenAI-compatible server on a real socket that says what it is told, with every fault of real ones."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Says:
    """A reply: text (a dict becomes JSON), or a tool call where one is asked for."""

    text: str | dict[str, Any]
    finish: str = "stop"
    refusal: str | None = None
    usage: bool = True


@dataclass(frozen=True)
class Fails:
    """An HTTP error."""

    status: int
    message: str = "scripted"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Sends:
    """A body with status 200 that is no chat completion."""

    body: bytes


@dataclass(frozen=True)
class Hangs:
    """Headers and the beginning of a body, then nothing, or now and then a byte, for so long."""

    seconds: float
    trickle: bool = False


@dataclass(frozen=True)
class Drops:
    """The connection is closed without a reply."""


Action = Says | Fails | Sends | Hangs | Drops
Script = Callable[[dict[str, Any]], Action]


class ScriptedServer:
    """Serves `/v1/chat/completions`.

    Attributes:
        requests: the bodies in the order in which they came.
        headers: of each request.
        at_once: the most requests whose replies were made at the same time.
    """

    def __init__(self, script: Script) -> None:
        self.script = script
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.times: list[float] = []
        self.at_once = self._now = 0
        self.lock = threading.Lock()
        self.stopping = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:
                return

            def do_POST(self) -> None:  # noqa: N802
                server.serve(self)

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02})

    @property
    def base_url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.http.server_address[1]}/v1"

    def serve(self, handler: BaseHTTPRequestHandler) -> None:
        """Answers a request by the script."""
        body = json.loads(handler.rfile.read(int(handler.headers["content-length"])))
        with self.lock:
            self.requests.append(body)
            self.headers.append({key.lower(): value for key, value in handler.headers.items()})
            self.times.append(time.monotonic())
            self._now += 1
            self.at_once = max(self.at_once, self._now)
        try:
            action = self.script(body)
        finally:
            with self.lock:  # before the reply is out: its reader may ask again at once
                self._now -= 1
        try:
            if isinstance(action, Drops):
                handler.close_connection = True
            elif isinstance(action, Hangs):
                self._hang(handler, action)
            elif isinstance(action, Fails):
                error = {"error": {"message": action.message, "type": "scripted", "code": None}}
                _send(handler, action.status, json.dumps(error).encode(), action.headers)
            elif isinstance(action, Sends):
                _send(handler, 200, action.body)
            elif body.get("stream"):
                _stream(handler, body, action)
            else:
                _send(handler, 200, json.dumps(completion(body, action)).encode())
        except (BrokenPipeError, ConnectionResetError):
            pass

    def _hang(self, handler: BaseHTTPRequestHandler, action: Hangs) -> None:
        handler.send_response(200)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", "100000")
        handler.end_headers()
        end = time.monotonic() + action.seconds
        while time.monotonic() < end and not self.stopping.wait(0.05):
            if action.trickle:
                handler.wfile.write(b" ")
                handler.wfile.flush()
        handler.close_connection = True


def completion(body: Mapping[str, Any], said: Says) -> dict[str, Any]:
    """A chat completion as the API defines it."""
    text = said.text if isinstance(said.text, str) else json.dumps(said.text)
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": said.refusal}
    finish = said.finish
    if body.get("tools") and said.refusal is None:
        call = {"name": body["tools"][0]["function"]["name"], "arguments": text}
        message |= {"content": None, "tool_calls": [{"id": "c1", "type": "function", "function": call}]}
        finish = "tool_calls" if finish == "stop" else finish
    made: dict[str, Any] = {"id": "x", "object": "chat.completion", "created": 1, "model": body["model"]}
    made["choices"] = [{"index": 0, "message": message, "finish_reason": finish}]
    if said.usage:
        made["usage"] = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return made


def _send(
    handler: BaseHTTPRequestHandler, status: int, body: bytes, headers: Mapping[str, str] | None = None
) -> None:
    handler.send_response(status)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", str(len(body)))
    for key, value in (headers or {}).items():
        handler.send_header(key, value)
    handler.end_headers()
    handler.wfile.write(body)


def _stream(handler: BaseHTTPRequestHandler, body: Mapping[str, Any], said: Says) -> None:
    whole = completion(body, said)
    base = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
    text = whole["choices"][0]["message"]["content"] or ""
    handler.send_response(200)
    handler.send_header("content-type", "text/event-stream")
    handler.end_headers()
    pieces = [text[i : i + 7] for i in range(0, len(text), 7)]
    chunks = [
        {**base, "choices": [{"index": 0, "delta": {"content": p}, "finish_reason": None}]} for p in pieces
    ]
    end = {"index": 0, "delta": {}, "finish_reason": whole["choices"][0]["finish_reason"]}
    chunks += [{**base, "choices": [end]}, {**base, "choices": [], "usage": whole.get("usage")}]
    for chunk in chunks:
        handler.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
    handler.wfile.write(b"data: [DONE]\n\n")
    handler.close_connection = True


@contextmanager
def serving(script: Script | list[Action]) -> Iterator[ScriptedServer]:
    """A running server; a list of actions is played in order, its last one again and again."""
    if isinstance(script, list):
        actions, lock = list(script), threading.Lock()

        def play(body: dict[str, Any]) -> Action:
            with lock:
                return actions.pop(0) if len(actions) > 1 else actions[0]

        server = ScriptedServer(play)
    else:
        server = ScriptedServer(script)
    server.thread.start()
    try:
        yield server
    finally:
        server.stopping.set()
        server.http.shutdown()
        server.http.server_close()
        server.thread.join()


def said_to(body: Mapping[str, Any]) -> str:
    """All the text of a request, the system's first."""
    texts = []
    for message in body["messages"]:
        content = message["content"]
        if isinstance(content, str):
            texts.append(content)
        else:
            texts += [part["text"] for part in content if part["type"] == "text"]
    return "\n".join(texts)


def role_of(body: Mapping[str, Any]) -> str:
    """The role that a prompt of ours is for: its heading."""
    return str(said_to(body)).split("\n", 1)[0].strip("# ").lower()


def by_role(**scripts: Any) -> Script:
    """A script that answers each role by its own action, list of actions or function of the body."""
    places: dict[str, int] = {}

    def play(body: dict[str, Any]) -> Action:
        role = role_of(body)
        given = scripts.get(role, scripts.get("other"))
        if given is None:
            return Fails(400, f"nothing is scripted for {role}")
        if callable(given):
            return given(body)
        if isinstance(given, list):
            place = places.get(role, 0)
            places[role] = place + 1
            return given[min(place, len(given) - 1)]
        return given

    return play
