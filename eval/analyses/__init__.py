"""Analyses of scored runs as pure functions, one a file: they read `Outcome`s and nothing else."""
