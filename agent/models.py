"""What a generative model is to this project: one call with text and pictures, one reply with its cost.

Readers and judges build a `Request`; an endpoint or a local model answers it with a `Completion`. Nothing
here knows prompts, and no model knows what its reply is for.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from agent.types import Usage

if TYPE_CHECKING:
    from PIL.Image import Image

StopKind = Literal["stop", "length", "refusal"]


class ModelError(Exception):
    """A call that brought no reply: the endpoint failed for good, timed out, or the model cannot take it."""


class BusyModelError(ModelError):
    """The endpoint turned every try away, whatever it was asked: another request now would fare no better."""


class OutOfTimeError(ModelError):
    """Tries have failed, and the time that the run has left does not do for another."""


class UnusableReplyError(ValueError):
    """A model replied, and its replies could not be used; `usage` is what they cost all the same."""

    def __init__(self, message: str, usage: Usage) -> None:
        super().__init__(message)
        self.usage = usage


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture in a request.

    Attributes:
        image: as the model is to see it; it is never enlarged or shrunk on the way.
        name: says in the trajectory what it shows, such as `page 12`.
    """

    image: "Image"
    name: str


@dataclass(frozen=True, slots=True)
class Request:
    """What a model is asked.

    Attributes:
        role: `plan`, `read`, `decide`, `answer`, `verify` or a judge's role.
        system: the instructions.
        content: texts and pictures, in the order the model reads them.
        schema: the JSON schema of the reply; None for free text.
        max_tokens: of the reply at most.
    """

    role: str
    system: str
    content: tuple[str | Picture, ...]
    schema: Mapping[str, Any] | None = None
    max_tokens: int = 2048


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model said.

    Attributes:
        text: the reply as it is; JSON where a schema was asked for and the model kept to it.
        stop: why it ended; `length` means that it was cut.
        usage: what it cost.
        cached: True where the reply came from the request cache: nothing was paid now.
    """

    text: str
    stop: StopKind = "stop"
    usage: Usage = field(default_factory=Usage)
    cached: bool = False


class Model(Protocol):
    """A generative model.

    Attributes:
        name: as it stands in a trajectory.
        sees: whether it takes pictures.
        context: tokens that a request and its reply may have together.
    """

    name: str
    sees: bool
    context: int

    def picture_tokens(self, width: int, height: int) -> int:
        """Tokens that a picture of so many pixels costs, by the model's own rule."""
        ...

    def picture_size(self, width: int, height: int, most: int) -> tuple[int, int]:
        """The largest size of a picture, in its proportions, that costs at most `most` tokens."""
        ...

    def text_tokens(self, text: str) -> int:
        """Tokens of a text: exact for a local model, an upper estimate for an endpoint."""
        ...

    def complete(self, request: Request) -> Completion:
        """Answers a request.

        Raises:
            ModelError: there is no reply; retries are over.
            InputError: a user's mistake, such as a wrong key or model name.
        """
        ...
