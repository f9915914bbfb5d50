"""Gradients that do not arrive as they should."""
