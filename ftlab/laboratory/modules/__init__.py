"""What a model is made of, and what a Trainer sees of it."""
