"""What a forward shows of a model: range through depth, parts, initialisation."""
