"""Nothing of a run is sent to a tracer, and an environment that asks for one never stops a run."""

import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

HERE = Path(__file__).parent
RUN = """
import sys
sys.path.insert(0, sys.argv[1])
from agent_fakes import FakeDocument, FakeRetriever, ScriptedReader, make_run, quoting, saying
from scripted_server import Says, serving
from agent.config import Endpoint, View
from agent.graph import ask
from agent.models import Request
from agent.readers.chat import ChatModel
from agent.replay import replay
from agent.types import Decision

def decides(task):
    return Decision("retrieve", "more", ("offices",))

with serving([Says({"a": 1})]) as server:
    model = ChatModel("m", Endpoint(base_url=server.base_url, cache=False, retries=0), View(images=False))

    def reads(task):
        model.complete(Request("read", "# Read", ("What is a?",), {"type": "object"}, 100))
        return quoting("It has 42 offices.")(task)

    reader = ScriptedReader(reads=reads, decides=decides, answers=saying("42"))
    trajectory = ask("offices 42", make_run(reader, rounds=2, k=1), question_id="q", model="m")
    again = replay(trajectory, 1, reader)
print(trajectory.answer, again.answer, [e.message for r in trajectory.rounds for e in r.errors])
"""


@pytest.mark.parametrize(
    "asked",
    [
        {"LANGCHAIN_TRACING": "true"},
        {"LANGCHAIN_HANDLER": "langchain", "LANGCHAIN_TRACING": "1"},
        {"LANGCHAIN_TRACING_V2": "true", "LANGSMITH_TRACING": "true", "LANGSMITH_API_KEY": "lsv2_x"},
        {"LANGCHAIN_TRACING": "true", "PAGETRAIL_TRACING": "1", "LANGSMITH_TRACING": "false"},
    ],
)
def test_a_run_and_its_replay_end_well_and_send_nothing_to_a_tracer(asked: dict[str, str]) -> None:
    told: list[str] = []

    class Tracer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # noqa: N802
            told.append(self.path)
            self.send_error(404)

        do_GET = do_PATCH = do_POST  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:
            return

    http = ThreadingHTTPServer(("127.0.0.1", 0), Tracer)
    threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("LANGCHAIN_", "LANGSMITH_"))}
    address = f"http://127.0.0.1:{http.server_address[1]}"
    places = {"LANGSMITH_ENDPOINT": address, "LANGCHAIN_ENDPOINT": address}
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(HERE)],
        env=inherited | places | asked,
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    http.shutdown()
    http.server_close()
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "42 42 []" and done.stderr == "" and told == []
