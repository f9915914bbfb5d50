"""One file per training framework that ftlab attaches to by more than PyTorch."""
