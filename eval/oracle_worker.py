"""The worker of the oracle study: `python -m eval.oracle_worker SETTING BENCHMARK DATA`.

It speaks the runner's language (`eval.worker`) and knows the gold by the questions' ids.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent.answer import Models, load_models
from agent.config import Config
from agent.models import Model
from agent.trajectory import Trajectory
from eval.benchmarks import load
from eval.benchmarks.types import Question
from eval.oracles import Given, Oracle, find_oracle
from eval.worker import Asking, Opens, serve

if TYPE_CHECKING:
    from indexes.document import Document


@dataclass(frozen=True, slots=True)
class GivenAsker:
    """Asks the questions on some documents under a setting."""

    oracle: Oracle
    questions: dict[str, Question]
    documents: "Sequence[Document]"
    models: Models
    model: Model | None
    config: Config

    def ask(self, question: str, question_id: str = "") -> Trajectory:
        """The run under the setting; KeyError where no question has the id."""
        found = self.questions[question_id]
        return self.oracle.ask(Given(found, self.documents, self.models.reader, self.config, self.model))


class GivenDesk:
    """Opens documents without an index; loads the reader once."""

    def __init__(self, oracle: Oracle, questions: Sequence[Question]) -> None:
        self._oracle = oracle
        self._questions = {question.id: question for question in questions}
        self._models: Models | None = None
        self._model: Model | None = None

    def ready(self, config: Config) -> None:
        """Loads the reader; without documents, of a reader that is a model, the model alone."""
        from agent.readers import MODELS, load_model

        rules = {**config.model_dump(), "encoder": "minilm", "encoder_model": None}
        if not self._oracle.opens and config.reader in MODELS:
            self._model = load_model(config)
            rules |= {"reader": "extractive"}
        self._models = load_models(Config(**rules))

    @contextmanager
    def open(self, paths: Sequence[Path], config: Config) -> Iterator[Asking]:
        """Opens documents for questions, if the setting reads any."""
        from indexes.documents import open_documents

        if self._models is None:
            raise ValueError("no reader was loaded")
        if not self._oracle.opens:
            yield GivenAsker(self._oracle, self._questions, (), self._models, self._model, config)
            return
        with open_documents(paths, ocr=config.ocr) as documents:
            yield GivenAsker(self._oracle, self._questions, documents, self._models, None, config)


def make(arguments: Sequence[str]) -> Opens:
    """The setting that is named, on the benchmark that is named."""
    parser = argparse.ArgumentParser()
    parser.add_argument("setting")
    parser.add_argument("benchmark")
    parser.add_argument("data", type=Path)
    parser.add_argument("--split")
    parser.add_argument("--pdfs", type=Path)
    options = parser.parse_args(arguments)
    questions = load(options.benchmark, options.data, split=options.split, pdfs=options.pdfs)
    return GivenDesk(find_oracle(options.setting), questions)


if __name__ == "__main__":
    serve(make(sys.argv[1:]))
