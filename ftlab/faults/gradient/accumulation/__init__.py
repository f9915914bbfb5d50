"""Faults of accumulation (gradient), and healthy runs that resemble them."""
