"""Faults of chat templates (data), and healthy runs that resemble them."""
