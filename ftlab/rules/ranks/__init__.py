"""Rules about agreement between processes."""
