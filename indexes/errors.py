"""The one error type for what a user can put right, and how a command shows it."""

import sys
from collections.abc import Callable


class InputError(Exception):
    """Something a user can put right: the message says what is wrong, where, and what to do, in one line."""


def one_line(text: str) -> str:
    """The text on one line; what would steer a terminal, such as an escape in a file's name, shows as `?`."""
    return "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))


def run_command(main: Callable[[], int]) -> None:
    """Runs a command's `main` and leaves the process with its exit code.

    An `InputError` becomes one line on stderr and exit code 2, Ctrl-C becomes exit code 130; anything else
    is our mistake and keeps its traceback.
    """
    try:
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
    sys.exit(code)
