"""Attention masks."""
