"""What a model answers while it is trained."""
