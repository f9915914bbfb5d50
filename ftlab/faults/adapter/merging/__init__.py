"""Faults of merging (adapter), and healthy runs that resemble them."""
