"""What makes each step slow."""
