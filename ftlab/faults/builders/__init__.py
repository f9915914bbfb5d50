"""What builds the models, data and loops of faults."""
