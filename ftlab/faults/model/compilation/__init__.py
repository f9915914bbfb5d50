"""Faults of compilation (model), and healthy runs that resemble them."""
