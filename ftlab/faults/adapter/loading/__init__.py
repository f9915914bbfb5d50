"""Faults of loading (adapter), and healthy runs that resemble them."""
