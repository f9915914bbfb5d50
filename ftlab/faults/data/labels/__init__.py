"""Faults of labels (data), and healthy runs that resemble them."""
