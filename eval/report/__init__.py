"""One HTML page of a run or a sweep: `python -m eval.report`."""
