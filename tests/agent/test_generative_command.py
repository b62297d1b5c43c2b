"""The command with a model at an endpoint: what it writes, what a second run pays, how a wrong key ends."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from agent_fakes import FakeRetriever
from generative_fakes import FOLLOWS, SeenDocument, answering, deciding, fact, planning, reading
from scripted_server import Fails, Says, by_role, serving

from agent import answer as command
from agent.config import Config
from agent.readers import load_reader
from indexes.errors import InputError

KEY = "sk-test-0815-geheim"
QUESTION = "What were net sales in 2023?"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The command opens a document that is written down; its reader and its endpoint are the config's."""
    monkeypatch.setenv("PAGETRAIL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("THE_KEY", KEY)

    @contextmanager
    def opens(paths: Any, config: Config, **options: Any) -> Iterator[command.Asker]:
        document = SeenDocument()
        yield command.Asker([document], FakeRetriever(document, order=[3]), load_reader(config), config)

    monkeypatch.setattr(command, "open_asker", opens)
    monkeypatch.setattr("agent.pictures.write_pictures", lambda *args: [])
    return tmp_path


def written(folder: Path, base_url: str) -> Path:
    """A config file."""
    lines = [
        "reader: chat",
        "reader_model: m",
        f"endpoint: {{base_url: '{base_url}', key_env: THE_KEY, price_in: 1.0, price_out: 2.0, retries: 0}}",
        "view: {images: true, context: 20000}",
        "k: 1",
    ]
    (folder / "mine.yaml").write_text("\n".join(lines))
    return folder / "mine.yaml"


def test_a_run_writes_its_costs_and_never_the_key_and_a_second_one_pays_nothing(
    opened: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sales = fact(3, "Net sales were 1,577 million in 2023.", quote="Net sales 1,577", blocks=[1])
    script = by_role(
        plan=Says(planning(QUESTION, answer_type="number")),
        read=Says(reading(sales)),
        decide=Says(deciding("answer", p1=["f1"])),
        answer=Says(answering("1,577", "f1")),
        verify=Says(FOLLOWS),
    )
    with serving(script) as server:
        config = str(written(opened, server.base_url))
        rows = []
        for out in ("a", "b"):
            arguments = ["doc.pdf", QUESTION, "--config", config, "--json", "--out", str(opened / out)]
            assert command.main(arguments) == 0
            printed = capsys.readouterr()
            assert KEY not in printed.out + printed.err
            rows.append(json.loads(printed.out))
        assert len(server.requests) == 5  # the second run asked for nothing
        assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    first, second = (row["trajectory"] for row in rows)
    assert first["usage"]["cost"] == pytest.approx(5 * (100 * 1.0 + 10 * 2.0) / 1e6)
    assert second["usage"]["cost"] == 0 and second["usage"]["calls"] == 5
    assert rows[0]["infer_usage"]["total_tokens"] == rows[1]["infer_usage"]["total_tokens"] == 550
    assert rows[0]["model_raw"] == rows[1]["model_raw"] and "1,577" in rows[0]["model_raw"]
    assert first["prompts"]["read"] and first["config"]["endpoint"]["key_env"] == "THE_KEY"
    files = [path for path in opened.rglob("*") if path.is_file()]
    assert len(files) > 6 and not [path for path in files if KEY.encode() in path.read_bytes()]


def test_a_wrong_key_ends_the_command_with_one_line(opened: Path) -> None:
    with serving([Fails(401, f"bad key {KEY}")]) as server:
        config = str(written(opened, server.base_url))
        with pytest.raises(InputError, match=r"401: the key in \$THE_KEY is not accepted") as caught:
            command.main(["doc.pdf", QUESTION, "--config", config, "--quiet"])
    assert KEY not in str(caught.value) and "\n" not in str(caught.value) and len(server.requests) == 1


def test_an_endpoint_that_only_fails_gives_an_error_row_not_an_abstention(
    opened: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving([Fails(500, "down")]) as server:
        config = str(written(opened, server.base_url))
        assert command.main(["doc.pdf", QUESTION, "--config", config, "--json", "--quiet"]) == 1
    row = json.loads(capsys.readouterr().out)
    assert row["status"].startswith("error: ") and "no reply after 1 try" in row["status"]
    assert "parsed" not in row and row["trajectory"]["rounds"]
