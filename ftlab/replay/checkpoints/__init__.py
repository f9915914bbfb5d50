"""Checkpoints that survive: written whole or not at all, and known when damaged."""
