"""Adapters that are merged into base weights, by PEFT or by hand."""
