"""A digest of a benchmark, by which a run knows its data again."""

import hashlib
import json
from collections.abc import Sequence

from eval.benchmarks.types import Question
from indexes.files import document_id


def data_digest(questions: Sequence[Question]) -> str:
    """A digest of what is asked and of all that decides whether an answer and its evidence are right.

    What is on disk of the documents does not enter: a run may go on where a missing PDF was put in its place.
    """
    sha = hashlib.sha256()
    for question in questions:
        names = [document_id(path) for path in question.documents]
        gold = [[ref.doc_id, ref.page] for ref in question.gold_pages]
        facts = [
            [region.id, region.ref.doc_id, region.ref.page, region.bbox.as_list(), region.element_type]
            for region in question.gold_regions
        ] + [[fact.id, fact.region, fact.text] for fact in question.gold_facts]
        right = [question.answer, question.answer_format, question.answerable]
        what = [question.id, question.question, names, *right, gold, facts]
        sha.update(json.dumps(what).encode() + b"\n")
    return sha.hexdigest()[:16]
