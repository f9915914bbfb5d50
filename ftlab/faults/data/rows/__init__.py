"""Faults of rows (data), and healthy runs that resemble them."""
