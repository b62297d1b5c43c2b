"""Documents, questions and replies are others' texts: none may hold a run by what it repeats."""

import time
from collections.abc import Callable

import pytest

from agent.arithmetic import _SCALED
from agent.citations import _TAG_LIKE, _TERMINAL
from agent.matching import _ELLIPSIS
from agent.readers.extractive.asked import asked_item
from agent.readers.extractive.lists import enumerated
from agent.readers.extractive.series import _BETWEEN, _YEARS
from agent.readers.extractive.tables import _scale
from agent.readers.extractive.text import numbers
from agent.readers.generative.safe import safe
from agent.show import _AMOUNT
from retrieval.references import _numbers

SIZE = 200_000


@pytest.mark.parametrize(
    ("work", "begin", "unit"),
    [
        (_SCALED.findall, "", "1"),
        (_TERMINAL.findall, "", "."),
        (_TERMINAL.findall, "", '."'),
        (_TAG_LIKE.findall, "<", " "),
        (_ELLIPSIS.findall, "", " "),
        (asked_item, "what is ", "a"),
        (enumerated, "it has one,", " "),
        (_BETWEEN.fullmatch, "", " "),
        (_YEARS.findall, "2019", " "),
        (_scale, "", "("),
        (numbers, "", " "),
        (numbers, "(", " "),
        (numbers, "", "1 "),
        (safe, "[", " "),
        (_AMOUNT.findall, "", "1,111"),
        (_numbers, "1", " "),
    ],
)
def test_a_text_that_repeats_itself_takes_linear_time(
    work: Callable[[str], object], begin: str, unit: str
) -> None:
    start = time.process_time()
    work(begin + unit * (SIZE // len(unit)) + "x")
    # Well below a second where time is linear; were it quadratic, minutes: no load can blur that.
    assert time.process_time() - start < 20
