"""Tokenizers: fingerprints, differences, files."""
