"""Faults of loss (numeric), and healthy runs that resemble them."""
