"""A model that says what it is told and counts by a rule of its own, and a document that can be seen."""

from collections.abc import Callable, Sequence
from typing import Any

from agent_fakes import PAGES, FakeDocument
from PIL import Image, ImageDraw

from agent.models import Completion, Picture, Request
from agent.types import Usage
from indexes.types import Page

TILE = 20  # pixels of a token's side


class FakeModel:
    """Answers by role; a token is two characters of a text, or 20 x 20 pixels of a picture."""

    def __init__(self, *, context: int = 8000, sees: bool = False, name: str = "fake", **roles: Any) -> None:
        self.name, self.sees, self.context, self.roles = name, sees, context, roles
        self.requests: list[Request] = []

    def picture_tokens(self, width: int, height: int) -> int:
        """By tiles."""
        return -(-width // TILE) * -(-height // TILE)

    def picture_size(self, width: int, height: int, most: int) -> tuple[int, int]:
        """What fits."""
        scale = min(1.0, (most * TILE * TILE / (width * height)) ** 0.5)
        while self.picture_tokens(int(width * scale) or 1, int(height * scale) or 1) > most and scale > 0.001:
            scale *= 0.97
        return max(1, int(width * scale)), max(1, int(height * scale))

    def text_tokens(self, text: str) -> int:
        """By characters."""
        return -(-len(text) // 2)

    def request_tokens(self, request: Request) -> int:
        """What a request costs, counted again from what was sent."""
        total = len(request.system) / 2
        for part in request.content:
            if isinstance(part, Picture):
                width, height = part.image.size
                total += ((width + TILE - 1) // TILE) * ((height + TILE - 1) // TILE)
            else:
                total += len(part) / 2
        return int(total) + 1

    def complete(self, request: Request) -> Completion:
        """As scripted."""
        self.requests.append(request)
        said = self.roles[request.role]
        if isinstance(said, list):
            said = said.pop(0) if len(said) > 1 else said[0]
        if callable(said):
            said = said(request)
        if isinstance(said, Exception):
            raise said
        if isinstance(said, Completion):
            return said
        import json

        text = said if isinstance(said, str) else json.dumps(said)
        return Completion(text, usage=Usage(self.request_tokens(request), len(text) // 2, 1, 0.01))


class SeenDocument(FakeDocument):
    """A document whose pages show their words where they stand."""

    def __init__(self, pages: Sequence[Page] = PAGES) -> None:
        super().__init__(pages)
        self.rendered: list[tuple[int, float]] = []

    def render(self, number: int, dpi: float = 144) -> Image.Image:
        """Each word a black box."""
        self.rendered.append((number, dpi))
        page = self.by_number[number]
        size = tuple(round(side * dpi / 72) for side in page.size)
        image = Image.new("RGB", size, "white")
        draw = ImageDraw.Draw(image)
        for word in page.words:
            box = word.bbox
            draw.rectangle(
                (box.x1 * size[0], box.y1 * size[1], box.x2 * size[0], box.y2 * size[1]), fill="black"
            )
        return image


def fact(page: int, text: str, **more: Any) -> dict[str, Any]:
    """A fact as a model writes it."""
    return {"page": page, "text": text, "quote": text, "blocks": [], "part": 1, "relevance": 0.9} | more


def reading(*facts: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A reply of the role `read`."""
    return {"facts": list(facts), "missing": [], "see": [], "zoom": []} | more


def planning(*parts: str, answer_type: str = "span", **more: Any) -> dict[str, Any]:
    """A reply of the role `plan`."""
    return {"answer_type": answer_type, "parts": list(parts), "queries": [], "sweep": False} | more


def deciding(action: str, *queries: str, **parts: list[str]) -> dict[str, Any]:
    """A reply of the role `decide`; `p1=["f1"]` says which facts answer part 1."""
    tested = [{"part": int(k[1:]), "facts": ids, "enough": bool(ids)} for k, ids in parts.items()]
    return {"parts": tested, "action": action, "queries": list(queries), "reason": "so it is"}


def answering(text: str, *facts: str, **more: Any) -> dict[str, Any]:
    """A reply of the role `answer`."""
    reply = {"parts": [], "answerable": True, "answer": text, "items": [], "facts": list(facts)}
    return reply | {"expression": "", "reason": "it says so", "confidence": 0.9} | more


FOLLOWS = {"follows": True, "problem": "", "answer": "", "facts": []}

Roles = dict[str, Any]
Reply = Callable[[Request], Any]
