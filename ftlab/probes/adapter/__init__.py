"""What adapters do in a live model: how they begin, and what they add."""
