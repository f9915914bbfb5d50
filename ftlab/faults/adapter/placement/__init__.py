"""Faults of placement (adapter), and healthy runs that resemble them."""
