"""What a run's manifest says beside its identity: versions, revision, host."""

import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from agent.graph import versions

ROOT = Path(__file__).resolve().parents[1]


def sitting(workers: int, ray: str | None = None) -> dict[str, Any]:
    """What one start of the runner is: versions, revision and host may change from one to the next.

    Args:
        workers: processes side by side; of a cluster nobody here says how many.
        ray: the cluster's address.
    """
    return {
        **({"workers": workers} if ray is None else {"ray": ray}),
        "versions": versions(),
        "revision": revision(),
        "host": {
            "name": platform.node(),
            "system": platform.platform(),
            "machine": platform.machine(),
            "cpus": os.cpu_count(),
        },
    }


def revision() -> str | None:
    """The git revision of this code, with `+` where files differ from it; None for an installed package."""
    try:
        if Path(_git("rev-parse", "--show-toplevel")).resolve() != ROOT:
            return None
        changed = _git("status", "--porcelain", "--untracked-files=no")
        return _git("rev-parse", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return None


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, timeout=10, check=True
    )
    return done.stdout.strip()
