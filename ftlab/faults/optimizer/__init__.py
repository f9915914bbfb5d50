"""Optimizers and schedules put together wrongly."""
