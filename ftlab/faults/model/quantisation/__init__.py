"""Faults of quantisation (model), and healthy runs that resemble them."""
