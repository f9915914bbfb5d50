"""Rules about versions and settings."""
