"""Documents that are open and indexed, ready for questions, and the models that many of them share."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from indexes.errors import InputError
from indexes.plain import plain

if TYPE_CHECKING:
    from agent.config import Config
    from agent.graph import Watch
    from agent.trajectory import Trajectory
    from agent.types import Reader
    from indexes.document import Document
    from indexes.encoders.protocol import PageEncoder
    from retrieval.types import Retriever

Source = str | os.PathLike[str]

MAX_QUESTION = 4000  # characters


@dataclass
class Asker:
    """Opened, indexed documents and a reader: asks any number of questions.

    Attributes:
        documents: at least one, each with a `doc_id` of its own; facts and pages say by it whose they are.
        indexing_seconds: what opening and indexing took.
    """

    documents: "Sequence[Document]"
    retriever: "Retriever"
    reader: "Reader"
    config: "Config"
    indexing_seconds: float = 0.0

    def ask(self, question: str, question_id: str = "", watch: "Watch | None" = None) -> "Trajectory":
        """Runs the graph on a question.

        With a reader whose calls cost, every step is on disk until the run ends: broken off, it goes on
        where it was when it is asked again.

        Args:
            question: what to ask.
            question_id: of the trajectory; `<document>::q1` by default.
            watch: is told every step as it ends, as `agent.graph.ask` says.

        Raises:
            InputError: the question is empty or too long, or something that the user can put right stops it.
        """
        from agent.graph import ask
        from agent.state import Run

        text = checked_question(question)
        run = Run(self.documents, self.retriever, self.reader, self.config)
        name = f"pagetrail/{self.config.name or 'custom'}"
        trajectory = ask(
            text,
            run,
            question_id=question_id or f"{self.doc_id}::q1",
            model=name,
            keep=bool(getattr(self.reader, "prompts", None)),
            watch=watch,
        )
        timings = {**trajectory.timings, "indexing": round(self.indexing_seconds, 4)}
        known = {document.doc_id: _known(document) for document in self.documents}
        return replace(trajectory, documents=known, timings=timings)

    @property
    def doc_id(self) -> str:
        """The document, of several the first."""
        return self.documents[0].doc_id


def _known(document: "Document") -> dict[str, Any]:
    """What a trajectory says of a document."""
    return {
        "sha256": document.sha256,
        "pages": len(document),
        "ocred": list(document.ocred),
        "failed": {str(page): plain(str(why), 300) for page, why in sorted(document.failed.items())},
        "warning": plain(str(getattr(document, "warning", "")), 300),
    }


def checked_question(question: str) -> str:
    """The question on one line.

    Raises:
        InputError: it is empty or too long.
    """
    text = plain(question)
    if not text:
        raise InputError('the question is empty: ask something, such as "What was revenue in 2023?"')
    if len(text) > MAX_QUESTION:
        raise InputError(f"the question has {len(text)} characters: at most {MAX_QUESTION} are taken")
    return text


@dataclass(frozen=True)
class Models:
    """What a config's runs share, whatever the document: the encoder and the reader."""

    encoder: "PageEncoder"
    reader: "Reader"


def load_models(config: "Config") -> Models:
    """Loads what a config names.

    Raises:
        InputError: there is no such encoder or reader, or its model cannot be had.
    """
    from agent.readers import load_reader
    from indexes.encoders import load_encoder
    from indexes.encoders.protocol import ImageEncoder

    encoder = load_encoder(config.encoder, **config.encoder_settings)
    # A reader compares texts with each other, for which an encoder of images was not made.
    texts = load_encoder("minilm") if isinstance(encoder, ImageEncoder) else encoder
    return Models(encoder, load_reader(config, texts))


@contextmanager
def open_asker(
    paths: Source | Sequence[Source],
    config: "Config",
    *,
    password: str | None = None,
    quiet: bool = True,
    models: Models | None = None,
) -> Iterator[Asker]:
    """Opens and indexes a document, or several, ready for questions.

    Args:
        paths: a PDF, a folder of page images or a folder of documents; or several of them.
        config: what to retrieve and read with.
        password: of PDFs that are encrypted.
        quiet: no progress bars on stderr.
        models: as `load_models` gave them, for one opening after the other; loaded here by default.

    Raises:
        InputError: a document cannot be opened, or the config names an encoder or reader that is not there.
    """
    from indexes.documents import open_documents
    from retrieval.hybrid import open_retriever

    start = time.perf_counter()
    named = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not all(os.fspath(path).strip() for path in named):
        raise InputError("a document has no name; name a PDF or a folder of page images")
    with open_documents(named, password=password, ocr=config.ocr, quiet=quiet) as documents:
        if models is None and (config.reader_model or config.encoder_model):
            models = load_models(config)  # one that is not here is said before a long document is read
        for document in documents:
            _ = document.labels  # read first, so that workers that read it are there for the layout too
            document.prepare_layout()
        loaded = models or load_models(config)
        retriever = open_retriever(documents, encoder=loaded.encoder, quiet=quiet)
        yield Asker(documents, retriever, loaded.reader, config, time.perf_counter() - start)
