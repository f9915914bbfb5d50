"""Memory of a step, and who holds what."""
