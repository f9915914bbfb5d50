"""What each sample and token adds to a loss and to a gradient."""
