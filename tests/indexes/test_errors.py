"""How a command says what is wrong: one line, and nothing in it that steers a terminal."""

import errno
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


def test_an_output_without_space_is_one_line(monkeypatch, capsys) -> None:
    def main() -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(sys, "stdout", sys.stdout)
    _fails(monkeypatch, [], main)
    said = capsys.readouterr().err
    assert said == "error: no space left to write the output; free some or direct it elsewhere\n"


def test_a_closed_output_is_one_line(monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    _fails(monkeypatch, [], lambda: 0)
    assert capsys.readouterr().err.startswith("error: standard output is closed")


def test_other_failures_of_the_system_keep_their_traceback() -> None:
    def main() -> int:
        raise OSError(errno.EIO, "broken")

    with pytest.raises(OSError, match="broken"):
        run_command(main)
