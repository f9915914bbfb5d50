"""Tokens and samples."""
