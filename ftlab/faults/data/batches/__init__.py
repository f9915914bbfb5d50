"""Faults of batches (data), and healthy runs that resemble them."""
