"""Rules about how the model is put together."""
