"""What is loaded and saved, against the model in memory."""
