"""Metrics, one a file, as pure functions."""
