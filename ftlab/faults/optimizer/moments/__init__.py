"""Faults of moments (optimizer), and healthy runs that resemble them."""
