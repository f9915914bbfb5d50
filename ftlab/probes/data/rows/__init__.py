"""What a row says, read by its columns, and what is wrong with its form."""
