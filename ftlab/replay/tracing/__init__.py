"""Executing a step operation by operation: what made what, where, out of what."""
