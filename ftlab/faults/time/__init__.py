"""Faults that cost time."""
