"""Faults of flow (gradient), and healthy runs that resemble them."""
