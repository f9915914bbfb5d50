"""Attention masks as a model uses them, and what they should be."""
