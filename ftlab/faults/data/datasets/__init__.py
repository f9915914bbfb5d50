"""Faults of datasets (data), and healthy runs that resemble them."""
