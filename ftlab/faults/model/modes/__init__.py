"""Faults of modes (model), and healthy runs that resemble them."""
