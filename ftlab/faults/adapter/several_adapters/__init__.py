"""Faults of several adapters (adapter), and healthy runs that resemble them."""
