"""A worker for the tests that dies, hangs or fails on pages by their number."""

import os
import signal
import time
from typing import Any

from indexes import worker


def main() -> None:
    """Runs the real worker, except for what the environment names."""
    bad = os.environ.get("CRASH_ON_PAGE", "")
    slow = float(os.environ.get("SLOW_SECONDS", "0"))
    real = worker.OPERATIONS["extract"]

    def extract(desk: worker.Desk, task: dict[str, Any]) -> worker.Answer:
        time.sleep(slow)
        if bad and int(bad) in task["pages"]:
            os.kill(os.getpid(), signal.SIGSEGV)
        return real(desk, task)

    worker.OPERATIONS["extract"] = extract
    worker.main()


if __name__ == "__main__":
    main()
