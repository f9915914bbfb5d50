"""Numbers of every tensor: gradients, weights, updates, activations."""
