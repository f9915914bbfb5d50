"""Optimizers and schedulers: what they hold, keep and move."""
