"""Faults of structure (model), and healthy runs that resemble them."""
