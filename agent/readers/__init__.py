"""Readers: what turns pages into facts and facts into an answer."""
