"""What ``torch.compile`` and tracing make of a model."""
