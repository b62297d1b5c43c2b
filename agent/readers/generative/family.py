"""Which frame a model says boxes in, by its name."""

import re

from agent.frames import BoxFrame

_FAMILIES: tuple[tuple[str, BoxFrame], ...] = (
    (r"qwen-?_?2[._]5-?_?(vl|omni)", "qwen2.5-vl"),
    (r"qwen-?_?[23](\.\d+)?-?_?(vl|omni)|qwen-?_?3\.\d", "thousand"),
    (r"gemini", "thousand-yx"),
)


def box_frame(model: str) -> BoxFrame:
    """The frame of a model's boxes; `normalized`, as the prompt then asks for, of one that is not known."""
    for pattern, frame in _FAMILIES:
        if re.search(pattern, model, re.IGNORECASE):
            return frame
    return "normalized"
