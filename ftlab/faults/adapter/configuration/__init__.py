"""Faults of configuration (adapter), and healthy runs that resemble them."""
