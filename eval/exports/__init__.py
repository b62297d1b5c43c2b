"""Predictions in the formats of the benchmarks: written for their own scorers, read from anyone."""

from eval.exports.formats import EXPORTS, Export, write_export
from eval.exports.prediction import Prediction, from_row, missing
from eval.exports.reading import Imported, read_predictions

__all__ = [
    "EXPORTS",
    "Export",
    "Imported",
    "Prediction",
    "from_row",
    "missing",
    "read_predictions",
    "write_export",
]
