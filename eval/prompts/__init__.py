"""The judges' prompts: our own templates, or the benchmark's own files, filled by plain replacement.

A template is a text with `{name}` where a value goes; `{{` and `}}` stand for braces. Nothing else is
understood: no formats, no attributes, and what is put in is not looked at again.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Literal, get_args

from indexes.errors import InputError

Role = Literal["region", "fact", "answer", "equivalence", "extraction"]

PLACEHOLDERS: Mapping[Role, tuple[str, ...]] = {
    "region": (
        "question",
        "gold_answer",
        "gt_page",
        "gold_total_on_page",
        "gold_facts_block",
        "n_pred",
        "pred_bboxes_norm",
    ),
    "fact": ("question", "gt_page", "gold_facts_block", "sibling_facts", "model_raw"),
    "answer": ("question", "gold_answer", "model_answer"),
    "equivalence": ("question", "reference", "answer_format", "response"),
    "extraction": ("question", "answer_format", "response"),
}
"""What each template may ask for; those of region, fact and answer are named as in DocScope's templates."""

FILES: Mapping[Role, tuple[str, ...]] = {
    "region": ("region.md", "evidence_grounding.txt"),
    "fact": ("fact.md", "factual_consistency.txt", "factucal_consistency.txt"),
    "answer": ("answer.md", "answer_verification.txt"),
    "equivalence": ("equivalence.md", "equivalence.txt"),
    "extraction": ("extraction.md", "extraction.txt"),
}
"""Names under which a template is looked for; after ours, the public ones (one is misspelled there)."""

_PART = re.compile(r"\{\{|\}\}|\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Template:
    """A prompt with places for values.

    Attributes:
        sha256: of the text, so that a verdict says by which words it was asked for.
        origin: the file's name.
    """

    role: Role
    text: str
    sha256: str
    origin: str

    def fill(self, values: Mapping[str, object]) -> str:
        """The prompt with the values in their places.

        Raises:
            KeyError: a value that the template asks for is not given.
        """

        def part(match: re.Match[str]) -> str:
            return str(values[match[1]]) if match[1] else match[0][0]

        return _PART.sub(part, self.text)


def load_templates(folder: Path | None = None) -> dict[Role, Template]:
    """All templates: those that `folder` has, else ours.

    Raises:
        InputError: the folder has none, one cannot be read, or asks for what it cannot be given.
    """
    own = resources.files("eval.prompts")
    found: dict[Role, Template] = {}
    theirs = 0
    for role in get_args(Role):
        path = None
        if folder is not None:
            path = next((folder / name for name in FILES[role] if (folder / name).is_file()), None)
        theirs += path is not None
        if path is None:
            text, origin = own.joinpath(f"{role}.md").read_text(encoding="utf-8"), f"{role}.md"
        else:
            text, origin = _read(path), path.name
        found[role] = _template(role, text, origin)
    if folder is not None and not theirs:
        names = ", ".join(name for names in FILES.values() for name in names)
        raise InputError(f"{folder}: no prompt template there; it may hold {names}")
    return found


def _template(role: Role, text: str, origin: str) -> Template:
    asked = {match[1] for match in _PART.finditer(text) if match[1]}
    strange = sorted(asked - set(PLACEHOLDERS[role]))
    if strange:
        raise InputError(
            f"{origin}: the placeholder {{{strange[0]}}} is none; there are "
            f"{', '.join(PLACEHOLDERS[role])} (write braces as {{{{ and }}}})"
        )
    return Template(role, text, hashlib.sha256(text.encode()).hexdigest(), origin)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
