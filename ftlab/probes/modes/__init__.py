"""Training and evaluation mode, of the model and of what stands beside it."""
