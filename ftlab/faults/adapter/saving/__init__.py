"""Faults of saving (adapter), and healthy runs that resemble them."""
