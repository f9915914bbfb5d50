"""Rules about how gradients flow."""
