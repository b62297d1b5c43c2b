"""Encoders: what turns pages and queries into vectors."""
