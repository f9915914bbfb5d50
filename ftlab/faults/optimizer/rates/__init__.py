"""Faults of rates (optimizer), and healthy runs that resemble them."""
