"""Datasets before a run: every row read and looked at."""
