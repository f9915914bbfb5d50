"""Faults of clipping (gradient), and healthy runs that resemble them."""
