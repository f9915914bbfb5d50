"""Stations on the way to deployment, each held against the live model."""
