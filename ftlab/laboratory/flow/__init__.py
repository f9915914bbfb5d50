"""Where gradients flow: which parameters a loss reaches, what cuts off the others."""
