"""Faults of training (model), and healthy runs that resemble them."""
