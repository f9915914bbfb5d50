"""Faults of reference model (adapter), and healthy runs that resemble them."""
