"""Faults of end of sequence (data), and healthy runs that resemble them."""
