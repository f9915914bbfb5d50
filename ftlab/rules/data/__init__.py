"""Rules about what the model is fed."""
