"""Healthy runs that look ill at first sight."""
