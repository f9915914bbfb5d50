"""Faults of sampling (data), and healthy runs that resemble them."""
