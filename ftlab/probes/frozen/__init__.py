"""What ought to stay as it is, and whether it does."""
