"""What a dataset is read from, and written to."""
