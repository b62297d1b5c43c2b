"""Benchmarks: loaders and scorers."""
