"""Faults of magnitude (gradient), and healthy runs that resemble them."""
