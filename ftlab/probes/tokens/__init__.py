"""What a model is fed: batches, tokens, and the rows that stand for them."""
