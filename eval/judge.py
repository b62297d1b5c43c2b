"""Judges: a chat model decides on answers, regions and facts, pinned by model, parameters and prompt.

`eval.judge_answers` says how answers are judged, `eval.judge_evidence` how regions and facts are. Whatever
could not be judged is None: unscored, listed in `failures`, asked again on the next run.
"""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.models import Model
from eval.benchmarks.types import Question
from eval.exports import Prediction
from eval.judge_answers import AnswerJudge
from eval.judge_evidence import EvidenceJudge
from eval.metrics.regions import Label
from eval.prompts import Role, load_templates
from eval.rules import Rules
from eval.scoring import AnswerScore
from eval.verdicts import Asker, Failure

if TYPE_CHECKING:
    from agent.config import Config


class Judge:
    """Judges the predictions of one benchmark; `eval.scoring` asks it as it asks rules.

    Args:
        benchmark: its name.
        model: judges answers and facts.
        regions: judges regions; `model` if it is not given. Without one that sees pictures they are labelled
            by overlap, which `names` says.
        prompts: a folder of the benchmark's own templates.
        parameters: of the model, such as temperature and seed: a verdict is pinned to them.
        region_parameters: of the model for regions; `parameters` if that is the same model.

    Raises:
        InputError: the templates cannot be used.
    """

    def __init__(
        self,
        benchmark: str,
        model: Model,
        regions: Model | None = None,
        *,
        prompts: Path | None = None,
        parameters: Mapping[str, Any] | None = None,
        region_parameters: Mapping[str, Any] | None = None,
    ) -> None:
        rules = Rules(benchmark)
        self._templates = load_templates(prompts)
        self._text = Asker(model, parameters or {})
        self._regions = Asker(regions or model, (parameters if regions is None else region_parameters) or {})
        self._answers = AnswerJudge(benchmark, self._text, self._templates, rules)
        self._evidence = EvidenceJudge(self._text, self._regions, self._templates, rules)
        self.names: Mapping[str, str] = self._names(rules)

    def _names(self, rules: Rules) -> dict[str, str]:
        names, role = dict(rules.names), self._answers.role
        if role == "extraction":
            names["answers"] = f"the benchmark's rules; short answers taken out by {self._named(role)}"
        elif role:
            names["answers"] = f"judge {self._named(role)}"
        if self._regions.model.sees:
            names["regions"] = f"judge {self._named('region')}"
        return names | {"facts": f"judge {self._named('fact')}"}

    def _named(self, role: Role) -> str:
        asker = self._regions if role == "region" else self._text
        return f"{asker.model.name} (prompt {self._templates[role].sha256[:8]})"

    @property
    def pinned(self) -> dict[str, Any]:
        """What verdicts depend on: models, parameters, and the prompts' digests and files."""
        return {
            "model": self._text.model.name,
            "parameters": self._text.parameters,
            "region_model": self._regions.model.name,
            "region_parameters": self._regions.parameters,
            "prompts": {
                role: {"sha256": template.sha256, "file": template.origin}
                for role, template in self._templates.items()
            },
        }

    @property
    def failures(self) -> tuple[Failure, ...]:
        """What could not be judged in this run."""
        return self._text.failures + self._regions.failures

    @property
    def calls(self) -> int:
        """Requests made in this run; verdicts of earlier runs cost none."""
        return self._text.calls + self._regions.calls

    def __enter__(self) -> "Judge":
        return self

    def __exit__(self, *_: object) -> None:
        self._evidence.close()

    def prepare(self, pairs: Iterable[tuple[Question, Prediction]], workers: int = 4) -> None:
        """Asks for all verdicts side by side, so that scoring finds them made.

        Raises:
            InputError: a user's mistake, such as a wrong key; verdicts made so far are kept.
        """
        with ThreadPoolExecutor(max_workers=max(1, workers)) as pool:
            futures = [pool.submit(self._all, question, prediction) for question, prediction in pairs]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def _all(self, question: Question, prediction: Prediction) -> None:
        if prediction.failure is None:
            self.answer(question, prediction)
            self.regions(question, prediction)
            self.facts(question, prediction)

    def answer(self, question: Question, prediction: Prediction) -> AnswerScore:
        """A model's verdict, or the benchmark's rules on the short answer that a model took out."""
        return self._answers.answer(question, prediction)

    def regions(self, question: Question, prediction: Prediction) -> dict[str, Label | None]:
        """Labels of the gold regions on pages that are cited; by overlap without a model that sees."""
        return self._evidence.regions(question, prediction)

    def facts(self, question: Question, prediction: Prediction) -> dict[str, bool | None]:
        """Whether the gold facts on pages that are cited are said."""
        return self._evidence.facts(question, prediction)


def load_judge(
    benchmark: str, config: "Config", region_config: "Config | None" = None, prompts: Path | None = None
) -> Judge:
    """Makes the judge whose models two configs name (`reader`, `reader_model`, `endpoint`, `view`).

    Raises:
        InputError: a config names no model, it cannot be had, or the templates cannot be used.
    """
    from agent.readers import load_model

    return Judge(
        benchmark,
        load_model(config),
        load_model(region_config) if region_config else None,
        prompts=prompts,
        parameters=_parameters(config),
        region_parameters=_parameters(region_config) if region_config else None,
    )


def _parameters(config: "Config") -> dict[str, Any]:
    """What a verdict depends on beside the model's name; where it is served does not enter."""
    if config.endpoint is None:
        return {"reader": config.reader}
    sampling = config.endpoint.model_dump(include={"provider", "temperature", "seed"})
    return {"reader": config.reader, **sampling}
