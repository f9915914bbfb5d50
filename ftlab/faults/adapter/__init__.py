"""Adapters that do not learn."""
