"""Faults of tokenizers (data), and healthy runs that resemble them."""
