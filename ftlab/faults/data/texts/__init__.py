"""Faults of texts (data), and healthy runs that resemble them."""
