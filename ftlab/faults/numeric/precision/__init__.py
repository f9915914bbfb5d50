"""Faults of precision (numeric), and healthy runs that resemble them."""
