"""What a loss is made of, and what it is given."""
