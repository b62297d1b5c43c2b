"""The one error type for what a user can put right, and how a command shows it."""

import argparse
import errno
import sys
from collections.abc import Callable
from typing import NoReturn


class InputError(Exception):
    """Something a user can put right: the message says what is wrong, where, and what to do, in one line."""


def one_line(text: str) -> str:
    """The text on one line; what would steer a terminal, such as an escape in a file's name, shows as `?`."""
    return "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))


class CommandParser(argparse.ArgumentParser):
    """A command line: its mistakes are one line, as a user's others are; `--help` shows examples."""

    def __init__(self, prog: str, description: str, examples: str) -> None:
        super().__init__(
            prog=prog,
            description=description,
            epilog=examples,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        """Raises `InputError`."""
        raise InputError(f"{message}; see {self.prog} --help")


def run_command(main: Callable[[], int]) -> None:
    """Runs a command's `main` and leaves the process with its exit code.

    An `InputError` becomes one line on stderr and exit code 2, as does an output that cannot be written;
    Ctrl-C becomes exit code 130; anything else is our mistake and keeps its traceback.
    """
    try:
        if sys.stdout is None:  # started with it closed
            raise InputError("standard output is closed; direct it to a file or a terminal")
        code = main()
    except InputError as error:
        sys.stderr.write(f"error: {one_line(str(error))}\n")
        code = 2
    except KeyboardInterrupt:
        sys.stderr.write("interrupted: what was finished is cached; run the same command to go on\n")
        code = 130
    except BrokenPipeError:
        sys.stderr.close()
        code = 141
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        sys.stderr.write("error: no space left to write the output; free some or direct it elsewhere\n")
        sys.stdout = None  # what is left in its buffer would fail again at exit
        code = 2
    sys.exit(code)
