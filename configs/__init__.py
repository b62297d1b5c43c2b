"""Configurations, one baseline a YAML file."""
