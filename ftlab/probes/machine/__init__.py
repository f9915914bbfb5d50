"""Memory and time."""
