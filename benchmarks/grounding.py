"""Grounding measured: gold fact texts given with their gold pages, the regions found against the gold ones.

    python benchmarks/grounding.py DATA
    python benchmarks/grounding.py DATA --disturb

DATA holds `docscope_style/benchmark.json` and its documents in `financebench/pdfs/`. G is a gold region, U
the union of the regions found for its fact. A region is covered where |G ∩ U| / |G| is at least 0.9; the area
is |U| / |G|. Facts whose text is nowhere found count as not covered, with an area of 0. With `--disturb` the
texts are also given in another order, with slips of recognition, with words lost or glued together, with
words around them, and cut off; what is lost at a text's ends cannot be covered.
"""

import argparse
import random
import re
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:] = [
    str(HERE.parent),
    *(p for p in sys.path if Path(p or ".").resolve() != HERE),
]  # named like a package

from agent.ground import GivenFact, ground_facts  # noqa: E402
from agent.grounding import Grounded  # noqa: E402
from eval.benchmarks import GoldRegion, load  # noqa: E402
from indexes.errors import InputError, run_command  # noqa: E402
from indexes.types import BBox  # noqa: E402

COVERED = 0.9
BENCHMARK = "docscope"
Item = tuple[Path, GoldRegion, str]


def main() -> int:
    """Grounds every gold fact and prints a line each, then both figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--disturb", action="store_true", help="also with the texts disturbed")
    options = parser.parse_args()
    items = gold(options.data)
    if not items:
        raise InputError(f"{options.data}: no gold region with a fact in docscope_style/benchmark.json")
    for name, disturb in list(DISTURBED.items())[: None if options.disturb else 1]:
        rng = random.Random(0)
        told = [(path, region, disturb(text, rng)) for path, region, text in items]
        recalls, areas = measure(told, each=not options.disturb)
        covered = sum(recall >= COVERED for recall in recalls)
        sys.stdout.write(
            f"{name}: covered {covered} of {len(recalls)} gold regions "
            f"({100 * covered / len(recalls):.1f} %), "
            f"median area {statistics.median(areas):.3f} of the gold area (largest {max(areas):.3f})\n"
        )
    return 0


def measure(items: Sequence[Item], *, each: bool) -> tuple[list[float], list[float]]:
    """The recall and the area of every item; `each` prints a line for it."""
    by_document: dict[Path, list[tuple[GoldRegion, str]]] = defaultdict(list)
    for path, region, text in items:
        by_document[path].append((region, text))
    recalls, areas = [], []
    for path, facts in by_document.items():
        given = [GivenFact(region.ref.page, text) for region, text in facts]
        for (region, text), found in zip(facts, ground_facts(path, given), strict=True):
            recall, area = overlap(region.bbox, found)
            recalls.append(recall)
            areas.append(area)
            if each:
                mark = "covered" if recall >= COVERED else "missed "
                sys.stdout.write(
                    f"{mark}  recall {recall:.3f}  area {area:.3f}  "
                    f"{len(found.regions)} box  {found.support:11s}  {path.stem} p. {region.ref.page}  "
                    f"{text[:50]!r}\n"
                )
    return recalls, areas


def _in_pieces(text: str, rng: random.Random) -> str:
    words = text.split()
    pieces = [words[i : i + 4] for i in range(0, len(words), 4)]
    rng.shuffle(pieces)
    return " ".join(word for piece in pieces for word in piece)


def _shuffled(text: str, rng: random.Random) -> str:
    words = text.split()
    rng.shuffle(words)
    return " ".join(words)


def _misread(text: str, rng: random.Random) -> str:
    words = text.split()
    for i, word in enumerate(words):
        if word.isalpha() and len(word) > 4 and rng.random() < 0.15:
            at = rng.randrange(len(word))
            words[i] = word[:at] + rng.choice("abcdefghij") + word[at + 1 :]
    return " ".join(words)


def _thinned(text: str, rng: random.Random) -> str:
    return " ".join(word for word in text.split() if rng.random() > 0.12)


def _glued(text: str, rng: random.Random) -> str:
    return re.sub(r"(?<=[a-z]) (?=[a-z])", lambda _: "" if rng.random() < 0.15 else " ", text)


DISTURBED: dict[str, Callable[[str, random.Random], str]] = {
    "as they are": lambda text, _: text,
    "in pieces of four words, shuffled": _in_pieces,
    "every word shuffled": _shuffled,
    "a letter wrong in 15 % of the words": _misread,
    "12 % of the words lost": _thinned,
    "15 % of the spaces lost": _glued,
    "words around it": lambda text, _: f"According to the document, {text} as the filing states.",
    "the last 3 % cut off": lambda text, _: text[: int(len(text) * 0.97)],
}


def gold(data: Path) -> list[Item]:
    """The gold regions that have a fact, each with its document and the fact's text."""
    items = []
    for question in load(BENCHMARK, data / "docscope_style", pdfs=data / "financebench" / "pdfs"):
        texts = {fact.region: fact.text for fact in question.gold_facts}
        items += [(question.documents[0], r, texts[r.id]) for r in question.gold_regions if r.id in texts]
    return items


def overlap(gold_box: BBox, found: Grounded) -> tuple[float, float]:
    """|G ∩ U| / |G| and |U| / |G|, areas as shares of the page."""
    boxes = [region.bbox for region in found.regions]
    inside = [cut for cut in (_cut(box, gold_box) for box in boxes) if cut is not None]
    return _union(inside) / gold_box.area, _union(boxes) / gold_box.area


def _cut(box: BBox, other: BBox) -> BBox | None:
    x1, y1, x2, y2 = (
        max(box.x1, other.x1),
        max(box.y1, other.y1),
        min(box.x2, other.x2),
        min(box.y2, other.y2),
    )
    return BBox(x1, y1, x2, y2) if x2 > x1 and y2 > y1 else None


def _union(boxes: Sequence[BBox]) -> float:
    """The area that boxes cover together, by the grid of all their edges."""
    xs = sorted({x for box in boxes for x in (box.x1, box.x2)})
    ys = sorted({y for box in boxes for y in (box.y1, box.y2)})
    return sum(
        (right - left) * (bottom - top)
        for left, right in zip(xs, xs[1:], strict=False)
        for top, bottom in zip(ys, ys[1:], strict=False)
        if any(b.x1 <= left and right <= b.x2 and b.y1 <= top and bottom <= b.y2 for b in boxes)
    )


if __name__ == "__main__":
    run_command(main)
