"""Faults of recomputation (gradient), and healthy runs that resemble them."""
