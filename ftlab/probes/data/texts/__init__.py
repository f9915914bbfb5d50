"""What is wrong with a text, whoever says it."""
