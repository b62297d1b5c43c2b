"""What a run's manifest says beside its identity: versions, revision, host, prompts, digests."""

import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agent.config import Config
from agent.graph import versions
from eval.benchmarks.types import Question
from indexes.files import document_id

ROOT = Path(__file__).resolve().parents[1]


def data_digest(questions: Sequence[Question]) -> str:
    """A digest of what is asked and what is right: ids, questions, documents' names, answers, gold pages.

    What is on disk of the documents does not enter: a run may go on where a missing PDF was put in its place.
    """
    sha = hashlib.sha256()
    for question in questions:
        names = [document_id(path) for path in question.documents]
        gold = [[ref.doc_id, ref.page] for ref in question.gold_pages]
        facts = [
            [region.id, region.ref.doc_id, region.ref.page, region.bbox.as_list()]
            for region in question.gold_regions
        ] + [[fact.id, fact.text] for fact in question.gold_facts]
        what = [question.id, question.question, names, question.answer, question.answerable, gold, facts]
        sha.update(json.dumps(what).encode() + b"\n")
    return sha.hexdigest()[:16]


def sitting(config: Config, workers: int) -> dict[str, Any]:
    """What one start of the runner is: versions, revision and host may change from one to the next."""
    return {
        "workers": workers,
        "versions": versions(),
        "revision": revision(),
        "host": {
            "name": platform.node(),
            "system": platform.platform(),
            "machine": platform.machine(),
            "cpus": os.cpu_count(),
        },
        "prompts": prompt_hashes(config),
    }


def prompt_hashes(config: Config) -> dict[str, str]:
    """SHA-256 of each prompt of the config's reader; a reader of rules has none."""
    return {}


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
