"""Loaders, one benchmark a file."""
