"""Functions that users put into training."""
