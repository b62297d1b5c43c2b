"""A run as an HTML page for people: answer, evidence drawn on the pages, facts, rounds, cost.

The page stands alone: pictures, style and script are in it, it works from `file://` and asks the network for
nothing. Whatever comes from documents and models is escaped; a content security policy lets no other script
run than the page's own.
"""

import base64
import hashlib
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.show import as_stated, place, spending
from agent.trajectory import RoundRecord, Trajectory
from agent.types import EvidenceRegion, Fact
from indexes.cache import write_atomic
from indexes.plain import plain
from indexes.types import BBox, PageRef

if TYPE_CHECKING:
    from jinja2 import Environment

    from indexes.document import Document

MAX_PICTURES = 12
"""Pages that one run shows with their boxes; the others are named."""

MAX_OTHER = 40
"""Facts beside those that the answer rests on that one run lists, those that matter most first."""

DPI, QUALITY = 110, 60
"""Of the pictures in the page of one answer."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A page as an image: where it is found (`src`, or `key` for a script to look up), and its pixels."""

    width: int
    height: int
    src: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class Reference:
    """What a benchmark says is right, for showing it beside a run."""

    answer: str
    pages: tuple[PageRef, ...] = ()
    regions: tuple[EvidenceRegion, ...] = ()
    facts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Box:
    """A box on a picture, in its pixels: what it is called and says, and where its name is written."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    name: str
    title: str
    name_x: float
    name_y: float
    anchor: str
    size: float


@dataclass(frozen=True, slots=True)
class EvidencePage:
    """A page with its boxes; without a picture where it could not be rendered."""

    title: str
    gold: bool
    cited: bool
    picture: Picture | None
    boxes: tuple[Box, ...] = ()


@dataclass(frozen=True, slots=True)
class Shown:
    """A run and what is shown beside it.

    Attributes:
        verdicts: what a scorer says of the answer, each with a kind that colours it (`good`, `bad`, `plain`).
        pictures: by page.
        most: pages that are shown; the others are named.
    """

    trajectory: Trajectory
    reference: Reference | None = None
    verdicts: Sequence[tuple[str, str]] = ()
    pictures: Mapping[PageRef, Picture] = field(default_factory=dict)
    most: int = MAX_PICTURES


def evidence_refs(trajectory: Trajectory, reference: Reference | None = None) -> list[PageRef]:
    """The pages worth seeing, in order: those of the facts that the answer shows, then the gold pages."""
    refs = [region.ref for fact in trajectory.shown for region in fact.regions]
    if reference is not None:
        refs += [region.ref for region in reference.regions] + list(reference.pages)
    return list(dict.fromkeys(refs))


def fragment(shown: Shown) -> str:
    """A run as HTML without the page around it."""
    run, reference = shown.trajectory, shown.reference
    refs = evidence_refs(run, reference)
    gold = set(reference.pages) if reference else set()
    context = {
        "run": run,
        "reference": reference,
        "verdicts": shown.verdicts,
        "stated": as_stated(run),
        "pages": [_evidence(ref, shown) for ref in refs[: shown.most]],
        "more": [place(ref, run.labels.get(ref), several=run.several) for ref in refs[shown.most :]],
        "cited": [_fact(fact, run) for fact in run.cited],
        "other": [_fact(fact, run) for fact in run.other[:MAX_OTHER]],
        "unlisted": max(0, len(run.other) - MAX_OTHER),
        "rounds": [_round(record, run, gold) for record in run.rounds],
        "gold": gold,
        "cost": _cost(run),
    }
    return environment().get_template("trajectory.html").render(context)


def page(shown: Sequence[Shown], title: str) -> str:
    """One HTML page with runs, one below the other."""
    body = "\n".join(fragment(item) for item in shown)
    return whole_page(title, body, scripts=(asset("trajectory.js"),))


def whole_page(title: str, body: str, *, scripts: Iterable[str], style: str = "") -> str:
    """A page around a body that is HTML already.

    Args:
        title: any text; it is escaped.
        body: trusted HTML.
        scripts: the only ones that the page may run.
        style: added to that of a run.
    """
    from markupsafe import Markup

    script = "\n".join(scripts)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        environment()
        .get_template("page.html")
        .render(
            title=title,
            body=Markup(body),
            style=Markup(asset("style.css") + style),
            script=Markup(script),
            digest=digest,
        )
    )


def script_json(value: Any) -> str:
    """JSON that may stand inside a `<script>` element: nothing in it can end the element or a line."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def encode_page(document: "Document", number: int, dpi: float, quality: int) -> tuple[bytes, int, int]:
    """A page as WebP, its width and its height.

    Raises:
        ValueError: it cannot be rendered.
    """
    image = document.render(number, dpi)
    out = io.BytesIO()
    image.save(out, format="WEBP", quality=quality, method=4)
    return out.getvalue(), *image.size


def data_uri(webp: bytes) -> str:
    """A WebP image as an address that holds it."""
    return "data:image/webp;base64," + base64.b64encode(webp).decode()


def pictures_of(documents: "Iterable[Document]", refs: Sequence[PageRef]) -> dict[PageRef, Picture]:
    """The pages as pictures that the page of one answer holds; those that cannot be rendered are left out."""
    by_id = {document.doc_id: document for document in documents}
    made = {}
    for ref in refs[:MAX_PICTURES]:
        if ref.doc_id in by_id:
            try:
                webp, width, height = encode_page(by_id[ref.doc_id], ref.page, DPI, QUALITY)
            except ValueError:
                continue
            made[ref] = Picture(width, height, src=data_uri(webp))
    return made


def write_page(documents: "Iterable[Document]", runs: Sequence[Trajectory], path: Path) -> Path:
    """Writes the page of one answer, or of several on the same documents.

    Args:
        documents: the runs' documents, open.
        runs: at least one.
        path: the HTML file.

    Raises:
        InputError: it cannot be written.
    """
    opened = list(documents)
    shown = [Shown(run, pictures=pictures_of(opened, evidence_refs(run))) for run in runs]
    text = page(shown, plain(runs[0].question, 200))
    write_atomic(path, text.encode("utf-8", "backslashreplace"))
    return path


# ---- what the templates are given


def _evidence(ref: PageRef, shown: Shown) -> EvidencePage:
    run, reference, picture = shown.trajectory, shown.reference, shown.pictures.get(ref)
    title = place(ref, run.labels.get(ref), several=run.several)
    cited = any(region.ref == ref for fact in run.shown for region in fact.regions)
    gold = reference is not None and ref in {*reference.pages, *(r.ref for r in reference.regions)}
    boxes = []
    if picture is not None:
        for number, region in enumerate(reference.regions if reference else (), 1):
            if region.ref == ref:
                boxes.append(_box(region.bbox, picture, "gold", f"g{number}", f"gold region {number}"))
        for fact in run.shown:
            for region in fact.regions:
                if region.ref == ref:
                    boxes.append(_box(region.bbox, picture, "predicted", fact.id, plain(fact.text, 300)))
    return EvidencePage(title, gold, cited, picture, tuple(boxes))


def _box(bbox: BBox, picture: Picture, kind: str, name: str, title: str) -> Box:
    """A box whose name stands beside it, gold to the right and found to the left, above where it must."""
    width, height = picture.width, picture.height
    size, right = round(height / 58, 1), kind == "gold"
    room = 1 - bbox.x2 if right else bbox.x1
    beside = room * width > size * (0.7 * len(name) + 0.5)
    edge = bbox.x2 if right else bbox.x1
    gap = 0.3 * size if right else -0.3 * size
    name_x = edge * width + (gap if beside else 0.0)
    name_y = bbox.y1 * height + 0.85 * size if beside else max(size, bbox.y1 * height - 0.25 * size)
    anchor = "start" if right == beside else "end"
    return Box(
        x=round(bbox.x1 * width, 1),
        y=round(bbox.y1 * height, 1),
        width=round((bbox.x2 - bbox.x1) * width, 1),
        height=round((bbox.y2 - bbox.y1) * height, 1),
        kind=kind,
        name=name,
        title=title,
        name_x=round(name_x, 1),
        name_y=round(name_y, 1),
        anchor=anchor,
        size=size,
    )


def _fact(fact: Fact, run: Trajectory) -> dict[str, Any]:
    places = dict.fromkeys(
        place(region.ref, run.labels.get(region.ref), several=run.several) for region in fact.regions
    )
    return {"fact": fact, "places": list(places)}


def _round(record: RoundRecord, run: Trajectory, gold: set[PageRef]) -> dict[str, Any]:
    read = set(record.read)
    pages = [
        {
            "rank": found.rank,
            "place": place(found.ref, run.labels.get(found.ref), several=run.several),
            "score": found.score,
            "matched": found.matched,
            "read": found.ref in read,
            "gold": found.ref in gold,
        }
        for found in record.retrieved
    ]
    return {"record": record, "pages": pages}


def _cost(run: Trajectory) -> list[tuple[str, str]]:
    lines = [("stopped", run.stop), ("rounds", str(len(run.rounds)))]
    lines.append(("pages read", str(len(run.pages_read))))
    lines += [(f"seconds, {step}", f"{seconds:.2f}") for step, seconds in run.timings.items()]
    if run.usage.calls:
        lines.append(("model", spending(run.usage)))
    for doc_id, known in run.documents.items():
        lines.append(("document", f"{plain(doc_id, 80)}, {known.get('pages', '?')} pages"))
        lines += [(f"page {number} failed", str(why)) for number, why in known.get("failed", {}).items()]
    errors = [*run.errors, *(error for record in run.rounds for error in record.errors)]
    lines += [(f"error in {error.step}", f"{error.kind}: {error.message}") for error in errors]
    lines += [("config", f"{key} {value}") for key, value in run.config.items() if value is not None]
    return lines


@cache
def asset(name: str) -> str:
    """A file of the templates."""
    return (resources.files("agent") / "templates" / name).read_text(encoding="utf-8")


@cache
def environment() -> "Environment":
    """The templates; every value is escaped, a missing one raises."""
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.FunctionLoader(asset),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["plain"] = plain
    return made
