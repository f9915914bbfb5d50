"""The adapter laboratory: what adapters are and do, measured on the live model."""
