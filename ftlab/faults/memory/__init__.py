"""Faults by which memory grows."""
