"""Faults of freezing (adapter), and healthy runs that resemble them."""
