"""Rules about the optimizer and its schedule."""
