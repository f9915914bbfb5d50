"""Faults of schedule (optimizer), and healthy runs that resemble them."""
