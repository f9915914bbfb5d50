"""Faults of checkpointing (model), and healthy runs that resemble them."""
