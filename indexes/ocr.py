"""OCR of pages without a text layer by rapidocr (PP-OCR on ONNX Runtime), in a worker.

On five pages that have a text layer (a filing, a paper, brochures, a manual; one thread) word recall was
0.98 with these settings and with rapidocr's own, in 3.9 instead of 5.6 CPU seconds a page. Recognizing line
by line instead of in padded batches is faster on a CPU and makes a line's text independent of its neighbours.
"""

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indexes.cache import digest

DPI = 144.0
SHORTEST, LONGEST = 1200, 2200  # pixels of the longer side: small images are enlarged, which helps much
PARAMETERS: dict[str, Any] = {
    "Global.log_level": "error",
    "Global.use_cls": False,
    "Global.max_side_len": LONGEST,
    "Global.return_word_box": True,
    "Global.return_single_char_box": True,
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
    "Det.limit_type": "max",
    "Det.limit_side_len": 1216,
    "Rec.rec_img_shape": [3, 48, 96],
    "Rec.rec_batch_num": 1,
}
REVISION = 1  # of how a result is kept

Pixels = NDArray[np.uint8]


def settings_digest() -> str:
    """Names the OCR's models and settings, so that results of others are never taken for its own."""
    from importlib.metadata import version

    return digest(
        REVISION, DPI, SHORTEST, LONGEST, json.dumps(PARAMETERS, sort_keys=True), version("rapidocr")
    )


def fit(size: tuple[float, float], scale: float) -> float:
    """Changes a scale so that `size` times it has a longer side between `SHORTEST` and `LONGEST`."""
    longer = max(size) * scale
    return scale * min(max(longer, SHORTEST), LONGEST) / longer


def load_engine() -> Any:
    """The OCR engine; a second or two to load."""
    from rapidocr import RapidOCR

    return RapidOCR(params=dict(PARAMETERS))


def read_image(engine: Any, image: Any) -> list[dict[str, Any]]:
    """The text lines on a Pillow RGB image.

    Returns:
        Lines as `{"score", "box", "words", "spans"}`: the box is normalized, `spans` are the left and right
        of each word, normalized; of a line that runs downwards (`"upright": false`) the top and bottom.
    """
    pixels: Pixels = np.ascontiguousarray(np.asarray(image)[:, :, ::-1])
    found = engine(pixels)
    if found.boxes is None or found.txts is None:
        return []
    grey: Pixels = np.asarray(image.convert("L"))
    height, width = grey.shape
    lines = []
    for quad, text, score, letters in zip(
        found.boxes, found.txts, found.scores, found.word_results, strict=False
    ):
        words = text.split()
        if not words:
            continue
        corners = np.asarray(quad, np.float64)
        x1, y1 = np.maximum(corners.min(0), 0).tolist()
        x2, y2 = np.minimum(corners.max(0), [width, height]).tolist()
        if x2 - x1 < 2 or y2 - y1 < 2:
            continue
        line: dict[str, Any] = {"score": round(float(score), 4), "words": words}
        upright = (y2 - y1) < 1.5 * (x2 - x1)
        if upright:
            y1, y2 = _ink_rows(grey, (x1, y1, x2, y2))
            spans = _word_spans(words, letters, (x1, x2), grey[int(y1) : int(y2) + 1])
            line["spans"] = [[round(a / width, 5), round(b / width, 5)] for a, b in spans]
        else:
            line["upright"] = False
            line["spans"] = [[round(a / height, 5), round(b / height, 5)] for a, b in _shares(words, y1, y2)]
        line["box"] = [round(v, 5) for v in (x1 / width, y1 / height, x2 / width, y2 / height)]
        lines.append(line)
    return lines


def _ink_rows(grey: Pixels, box: tuple[float, float, float, float]) -> tuple[float, float]:
    """Top and bottom of the ink around a line's middle: detected boxes reach into their neighbours."""
    x1, y1, x2, y2 = (int(value) for value in box)
    part = grey[y1 : y2 + 1, x1 : x2 + 1].astype(np.int16)
    apart = np.abs(part - np.median(part))
    share = (apart > max(30.0, 0.35 * float(apart.max()))).mean(1)
    inked = share > 0.004
    middle = len(inked) // 2
    low = high = middle
    blank = max(1, len(inked) // 12)  # the dot of an i stands apart from its stem
    while low > 0 and inked[max(0, low - blank) : low].any():
        low -= 1
    while high < len(inked) - 1 and inked[high + 1 : high + 1 + blank].any():
        high += 1
    if high - low < 0.4 * len(inked):
        return box[1], box[3]
    return float(y1 + low), float(y1 + high + 1)


def _shares(words: list[str], low: float, high: float) -> list[tuple[float, float]]:
    """Places words along a line by their number of letters."""
    total = sum(len(word) for word in words) + len(words) - 1
    unit, at, spans = (high - low) / max(1, total), low, []
    for word in words:
        spans.append((at, at + len(word) * unit))
        at += (len(word) + 1) * unit
    return spans


def _word_spans(
    words: list[str], letters: Any, ends: tuple[float, float], strip: Pixels
) -> list[tuple[float, float]]:
    """Left and right of each word in pixels, by where the recognizer saw letters and where there is ink.

    Args:
        words: of the line.
        letters: the recognizer's `(letter, score, quad)` of the line, without spaces.
        ends: left and right of the line.
        strip: the grey rows of the page that the line stands on.
    """
    centers = [float(np.asarray(quad)[:, 0].mean()) for _, _, quad in letters or ()]
    if len(centers) != sum(len(word) for word in words):
        return _shares(words, *ends)
    ink = _ink(strip, ends)
    edges, at = [], 0
    for word in words[:-1]:
        at += len(word)
        edges.append(_gap(ink, centers[at - 1], centers[at]))
    lefts = [ends[0], *(b for _, b in edges)]
    rights = [*(a for a, _ in edges), ends[1]]
    return [_trim(ink, a, max(a + 1, b), ends) for a, b in zip(lefts, rights, strict=True)]


def _ink(strip: Pixels, ends: tuple[float, float]) -> NDArray[np.bool_]:
    """Which pixel columns of the page have ink on this line."""
    part = strip[:, int(ends[0]) : int(ends[1]) + 1].astype(np.int16)
    ink = np.zeros(strip.shape[1] + 2, np.bool_)
    if part.size:
        paper = np.median(part)
        apart = np.abs(part - paper)
        ink[int(ends[0]) : int(ends[0]) + part.shape[1]] = apart.max(0) > max(30.0, 0.35 * float(apart.max()))
    return ink


def _gap(ink: NDArray[np.bool_], left: float, right: float) -> tuple[float, float]:
    """The widest stretch without ink between two letters' centers; their middle where there is none."""
    low, high = int(left), max(int(left) + 1, int(right))
    blank = np.flatnonzero(~ink[low:high])
    if not len(blank):
        middle = (left + right) / 2
        return middle, middle
    runs = np.split(blank, np.flatnonzero(np.diff(blank) > 1) + 1)
    widest = max(runs, key=len)
    return low + float(widest[0]), low + float(widest[-1]) + 1


def _trim(
    ink: NDArray[np.bool_], left: float, right: float, ends: tuple[float, float]
) -> tuple[float, float]:
    """Moves a word's ends to its first and last ink."""
    inked = np.flatnonzero(ink[int(left) : int(right) + 1])
    if len(inked) < 2:
        return left, right
    return max(ends[0], int(left) + float(inked[0])), min(ends[1], int(left) + float(inked[-1]) + 1)
