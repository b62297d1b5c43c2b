"""How a command says what is wrong: one line, and nothing in it that steers a terminal."""

import sys

import pytest

from eval import sample
from indexes import build
from indexes.errors import InputError, run_command


def _fails(monkeypatch: pytest.MonkeyPatch, arguments: list[str], main) -> None:
    monkeypatch.setattr(sys, "argv", ["command", *arguments])
    with pytest.raises(SystemExit) as caught:
        run_command(main)
    assert caught.value.code == 2


def test_a_name_with_escapes_cannot_steer_the_terminal(monkeypatch, capsys) -> None:
    def main() -> int:
        raise InputError("esc\x1b[31m\u202e\n.pdf: no such file")

    _fails(monkeypatch, [], main)
    assert capsys.readouterr().err == "error: esc?[31m? .pdf: no such file\n"


@pytest.mark.parametrize("arguments", [[], ["--bogus", "a.pdf"]])
@pytest.mark.parametrize("main", [build.main, sample.main])
def test_wrong_arguments_are_one_line(monkeypatch, capsys, main, arguments: list[str]) -> None:
    _fails(monkeypatch, arguments, main)
    said = capsys.readouterr()
    assert said.err.startswith("error: ") and said.err.count("\n") == 1 and not said.out
