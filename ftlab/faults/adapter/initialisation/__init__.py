"""Faults of initialisation (adapter), and healthy runs that resemble them."""
