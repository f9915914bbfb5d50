"""Faults of parameters (optimizer), and healthy runs that resemble them."""
