"""Numbers that stop being numbers."""
