"""Local Qwen vision-language models, through transformers and qwen-vl-utils.

Qwen2-VL, Qwen2.5-VL and Qwen3-VL by a folder or a name of the Hugging Face hub. A model is loaded once a
process; weights that are not exactly those of the checkpoint are refused; decoding is greedy.
"""

import math
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from agent.config import View
from agent.models import Completion, ModelError, Picture, Request
from agent.readers.chat.providers import schema_in_words
from agent.readers.qwen_weights import MERGE, LoadedQwen, load_weights
from agent.types import Usage
from indexes.encoders.torchvision_shim import make_torchvision_importable

FEWEST, MOST = 4, 16_384  # tokens of a picture, as qwen-vl-utils has it
AROUND = 2  # tokens before and after a picture
BATCHES: Mapping[str, int] = {"cuda": 8, "mps": 4, "cpu": 2}


_loading = threading.Lock()


class QwenModel:
    """A local model.

    Attributes:
        name: as it was asked for.
        sees: whether it is shown pictures.
        context: tokens that a request and its reply may have together: the view's, at most the model's own.
        box_frame: what the numbers of its boxes mean.
        batch_size: requests that it answers at a time, halved where memory runs out.
    """

    def __init__(self, loaded: LoadedQwen, view: View | None = None) -> None:
        view = view or View()
        self.name, self.sees, self.box_frame = loaded.name, view.images, loaded.family.box_frame
        self.context = min(view.context, int(loaded.model.config.text_config.max_position_embeddings))
        self.batch_size = BATCHES[loaded.device.partition(":")[0]]
        self._model, self._processor, self._device = loaded.model, loaded.processor, loaded.device
        self._patch, self._factor = loaded.patch, loaded.patch * MERGE
        self._tokenizer = loaded.processor.tokenizer
        self._special = sorted(self._tokenizer.get_added_vocab(), key=len, reverse=True)
        self._lock = threading.Lock()

    def picture_tokens(self, width: int, height: int) -> int:
        """Tokens of a picture, the two around it with it, at the size to which the model brings it."""
        wide, high = self._resized(width, height, MOST)
        return (wide // self._factor) * (high // self._factor) + AROUND

    def picture_size(self, width: int, height: int, most: int) -> tuple[int, int]:
        """The largest size of a picture, in its proportions, that costs at most `most` tokens.

        Sides are multiples of the model's patches, so that the model takes the picture as it is. The
        smallest picture costs 6 tokens, also where `most` is less.

        Raises:
            ValueError: the picture is more than 200 times as wide as high, or the other way round.
        """
        return self._resized(width, height, min(MOST, max(FEWEST, most - AROUND)))

    def _resized(self, width: int, height: int, tokens: int) -> tuple[int, int]:
        make_torchvision_importable()
        from qwen_vl_utils.vision_process import smart_resize

        area = self._factor**2
        high, wide = smart_resize(height, width, self._factor, FEWEST * area, tokens * area)
        wide, high = max(wide, self._factor), max(high, self._factor)
        if wide * high > tokens * area:  # of a narrow picture the short side was rounded up
            most = max(1, tokens * self._factor // min(wide, high)) * self._factor
            wide, high = min(wide, most), min(high, most)
        if wide * high < FEWEST * area:  # rounded down below what the model takes
            grids = [(c, r) for c in range(1, 5) for r in range(1, 5) if FEWEST <= c * r <= tokens]
            columns, rows = min(grids, key=lambda grid: abs(math.log(grid[0] * height / grid[1] / width)))
            wide, high = columns * self._factor, rows * self._factor
        return wide, high

    def text_tokens(self, text: str) -> int:
        """Tokens of a text, exactly, by the model's tokenizer."""
        return len(self._tokenizer(self._harmless(text), add_special_tokens=False)["input_ids"])

    def request_tokens(self, request: Request) -> int:
        """Tokens of a whole request, exactly: the chat template, the schema in words and pictures with it."""
        pictures = [part for part in request.content if isinstance(part, Picture)]
        ids = self._tokenizer(self._prompt(self._messages(request)), add_special_tokens=False)["input_ids"]
        # each picture stands in the prompt as one token between two others
        return len(ids) + sum(self.picture_tokens(*p.image.size) - AROUND - 1 for p in pictures)

    def complete(self, request: Request) -> Completion:
        """Answers a request.

        Raises:
            ModelError: it is longer than the model's context, a picture is not of a size that `picture_size`
                gives, or memory does not suffice.
        """
        (answered,) = self.complete_all([request])
        if isinstance(answered, ModelError):
            raise answered
        return answered

    def complete_all(self, requests: Sequence[Request]) -> list[Completion | ModelError]:
        """Answers requests together, some at a time; what has no reply has its error instead."""
        answers: list[Completion | ModelError | None] = [self._objection(request) for request in requests]
        left = [place for place, answer in enumerate(answers) if answer is None]
        with self._lock:  # one call at a time: two would share the device's memory
            while left:
                batch, left = left[: self.batch_size], left[self.batch_size :]
                for place, answer in zip(batch, self._batch([requests[i] for i in batch]), strict=True):
                    answers[place] = answer
        return [answer for answer in answers if answer is not None]

    def _objection(self, request: Request) -> ModelError | None:
        """Why a request cannot be answered, before any work."""
        for part in request.content:
            if isinstance(part, Picture) and any(side % self._factor for side in part.image.size):
                width, height = part.image.size
                return ModelError(
                    f"picture {part.name!r} of {width} x {height} pixels: expected multiples of "
                    f"{self._factor}, as picture_size gives"
                )
        tokens = self.request_tokens(request)
        if tokens + request.max_tokens > self.context:
            return ModelError(
                f"{request.role}: {tokens} tokens and {request.max_tokens} of the reply are more than the "
                f"context of {self.context}"
            )
        return None

    def _batch(self, requests: Sequence[Request]) -> list[Completion | ModelError]:
        """Answers requests at once; where memory runs out, each half on its own."""
        import torch

        try:
            return list(self._generate(requests))
        except (RuntimeError, MemoryError) as error:
            if not out_of_memory(error):
                raise
        if self._device.startswith("cuda"):
            torch.cuda.empty_cache()
        if len(requests) == 1:
            tokens = self.request_tokens(requests[0])
            cure = "lower image_tokens or context in the config's view"
            return [ModelError(f"out of memory on {self._device} at {tokens} tokens; {cure}")]
        self.batch_size = half = max(1, len(requests) // 2)
        return [*self._batch(requests[:half]), *self._batch(requests[half:])]

    def _generate(self, requests: Sequence[Request]) -> list[Completion]:
        import torch
        from qwen_vl_utils import process_vision_info
        from transformers import GenerationConfig

        conversations = [self._messages(request) for request in requests]
        images, _ = process_vision_info(conversations, image_patch_size=self._patch)
        inputs = self._processor(
            text=[self._prompt(messages) for messages in conversations],
            images=images,
            padding=True,
            padding_side="left",
            return_tensors="pt",
            do_resize=False,
        ).to(self._device)
        ends = self._ends()
        make: Any = GenerationConfig
        greedy = make(
            do_sample=False,
            num_beams=1,
            repetition_penalty=1.0,
            max_new_tokens=max(request.max_tokens for request in requests),
            eos_token_id=sorted(ends),
            pad_token_id=self._tokenizer.pad_token_id,
        )
        with torch.inference_mode():
            output = self._model.generate(**inputs, generation_config=greedy)
        replies = output[:, inputs["input_ids"].shape[1] :].tolist()
        read = inputs["attention_mask"].sum(dim=1).tolist()
        return [
            self._completion(reply, ends, request.max_tokens, int(prompt))
            for reply, request, prompt in zip(replies, requests, read, strict=True)
        ]

    def _completion(self, ids: Sequence[int], ends: set[int], most: int, prompt_tokens: int) -> Completion:
        kept = list(ids[:most])
        end = next((place for place, token in enumerate(kept) if token in ends), None)
        written = len(kept) if end is None else end + 1
        text = self._tokenizer.decode(kept[:end], skip_special_tokens=True)
        usage = Usage(prompt_tokens, written, 1)
        return Completion(text, "length" if end is None else "stop", usage)

    def _ends(self) -> set[int]:
        """The tokens that end a reply."""
        told = self._model.generation_config.eos_token_id
        ends = set(told if isinstance(told, list) else [told]) | {self._tokenizer.eos_token_id}
        return {int(end) for end in ends if end is not None}

    def _messages(self, request: Request) -> list[dict[str, Any]]:
        content: list[dict[str, Any]] = []
        for part in request.content:
            if isinstance(part, Picture):
                width, height = part.image.size
                size = {"resized_width": width, "resized_height": height}
                content.append({"type": "image", "image": part.image, **size})
            else:
                content.append({"type": "text", "text": f"{self._harmless(part)}\n"})
        if request.schema is not None:
            content.append({"type": "text", "text": schema_in_words(request.schema)})
        system = {"role": "system", "content": self._harmless(request.system)}
        return [system, {"role": "user", "content": content}]

    def _prompt(self, messages: Sequence[Mapping[str, Any]]) -> str:
        prompt: str = self._processor.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True
        )
        return prompt

    def _harmless(self, text: str) -> str:
        """A text in which nothing acts as a token of the chat template, whatever a document says."""
        for token in self._special:
            text = text.replace(token, f"{token[:1]} {token[1:]}")
        return text


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, on a GPU or off it."""
    import torch

    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    text = str(error).lower()
    return "out of memory" in text or "can't allocate memory" in text or "not enough memory" in text


def load_qwen(name: str, view: View | None = None, *, device: str | None = None) -> QwenModel:
    """A model by a folder or a name of the Hugging Face hub; the same one is loaded once a process.

    Args:
        name: what to load.
        view: what it is shown and may say.
        device: `cuda`, `cuda:1`, `mps` or `cpu`; the best one by default.

    Raises:
        InputError: it cannot be found or read, is no such model, its weights do not fit, or there is no such
            device.
    """
    with _loading:
        return QwenModel(load_weights(name, device), view)
