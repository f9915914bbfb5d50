"""Tokenizers as such: what they are made of, and how two of them differ.

Who calls whom: `reader_of` finds the reader for what does the work within a tokenizer;
fingerprints, the watch and comparisons read through it.
"""
