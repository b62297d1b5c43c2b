"""Pages a second of the `colqwen` encoder, with random weights of the real size.

    python benchmarks/colqwen_speed.py                  # the shapes of ColQwen2.5 (3B); a GPU if there is one
    python benchmarks/colqwen_speed.py --tokens 1024 --batch-sizes 4 8 16
    python benchmarks/colqwen_speed.py --tiny           # tries the script only, with tiny weights

Speed does not depend on what the weights say, so no model has to be fetched. Pages are pictures of letter
size at 144 DPI; shrinking them to patches is part of the time. The real size was not run by those who wrote
this, for lack of a GPU: only `--tiny` was, on a CPU.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image

from eval.random_models import random_model, random_processor
from indexes.encoders.colqwen import ColQwen, ColQwenSettings
from indexes.encoders.colqwen_models import FAMILIES
from indexes.encoders.colqwen_weights import Loaded
from indexes.encoders.devices import choose_device
from indexes.errors import run_command
from indexes.types import PageRef

FAMILY = "qwen2_5_vl"
LETTER = (1224, 1584)
QUERY = "What was the revenue of the company in the second quarter, and by how much did it grow?"


@dataclass(frozen=True, slots=True)
class Speed:
    """What was measured at a batch size: as asked for and as memory allowed, and what a page leaves."""

    asked: int
    batch_size: int
    pages_per_second: float
    vectors: int
    gib: float


def random_encoder(size: str, tokens: int, device: str | None) -> ColQwen:
    """An encoder with random weights; `size` is `tiny` or `real`."""
    import torch

    where, dtype = choose_device(device)
    processor = random_processor(FAMILY)
    with torch.device(where):
        model = random_model(FAMILY, size, len(processor.tokenizer))
    model = model.to(where, dtype).eval().requires_grad_(False)
    loaded = Loaded("random", FAMILIES[FAMILY], model, processor, model.dim, "0" * 16, where)
    return ColQwen(loaded, ColQwenSettings(max_num_visual_tokens=tokens))


def measure(encoder: ColQwen, pages: int, sizes: Sequence[int]) -> Iterator[Speed]:
    """Embeds so many pages at each batch size, after a batch to warm up."""
    random = np.random.default_rng(0)
    image = Image.fromarray(random.integers(0, 255, (LETTER[1], LETTER[0], 3), dtype=np.uint8))
    for asked in sizes:
        encoder.batch_size = asked
        _reset(encoder.device)
        encoder.encode_images([PageRef("warm", i + 1) for i in range(asked)], [image] * asked)
        refs = [PageRef("page", i + 1) for i in range(pages)]
        start = time.perf_counter()
        found = encoder.encode_images(refs, [image] * pages)
        seconds = time.perf_counter() - start
        yield Speed(asked, encoder.batch_size, pages / seconds, len(found[0].vectors), _peak(encoder.device))


def _reset(device: str) -> None:
    import torch

    if device.startswith("cuda"):
        torch.cuda.reset_peak_memory_stats(device)


def _peak(device: str) -> float:
    """The most memory held so far in GiB: on a GPU since the reset, else by the process since its start."""
    import resource

    import torch

    if device.startswith("cuda"):
        return float(torch.cuda.max_memory_allocated(device)) / 2**30
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / 2**30 if sys.platform == "darwin" else used / 2**20


def main() -> int:
    """Measures and prints a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tiny", action="store_true", help="tiny weights, to try the script")
    parser.add_argument("--tokens", type=int, default=768, help="visual tokens a page (default: %(default)s)")
    parser.add_argument(
        "--pages", type=int, default=64, help="pages at each batch size (default: %(default)s)"
    )
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[1, 4, 8, 16], metavar="N")
    parser.add_argument("--device", help="cuda, cuda:1, mps or cpu; the best one by default")
    parser.add_argument("--threads", type=int, help="of the CPU")
    arguments = parser.parse_args()
    import torch

    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    encoder = random_encoder("tiny" if arguments.tiny else "real", arguments.tokens, arguments.device)
    model = encoder.loaded.model
    count = sum(values.numel() for values in model.parameters())
    name = torch.cuda.get_device_name(encoder.device) if encoder.device.startswith("cuda") else encoder.device
    sys.stdout.write(
        f"{count / 1e9:.2f} billion weights, {str(model.dtype).removeprefix('torch.')}, {name}, "
        f"torch {torch.__version__}, {torch.get_num_threads()} CPU threads\n"
    )
    sys.stdout.write(
        "| batch | pages/s | vectors a page | KB a page in 16 bits | peak GiB |\n|---|---|---|---|---|\n"
    )
    for speed in measure(encoder, arguments.pages, arguments.batch_sizes):
        batch = (
            str(speed.asked) if speed.batch_size == speed.asked else f"{speed.asked} -> {speed.batch_size}"
        )
        kilobytes = speed.vectors * encoder.dim * 2 / 1000
        cells = (
            f"{batch} | {speed.pages_per_second:.2f} | {speed.vectors} | {kilobytes:.0f} | {speed.gib:.2f}"
        )
        sys.stdout.write(f"| {cells} |\n")
        sys.stdout.flush()
    start = time.perf_counter()
    for _ in range(10):
        encoder.encode_query(QUERY)
    sys.stdout.write(f"a query: {(time.perf_counter() - start) * 100:.0f} ms\n")
    return 0


if __name__ == "__main__":
    run_command(main)
