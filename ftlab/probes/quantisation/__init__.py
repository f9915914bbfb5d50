"""Weights of 4 and 8 bits."""
