"""What the operations of a loop mean: where a step begins, is measured and ends."""
