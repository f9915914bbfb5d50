"""What-if: a step executed with one thing changed."""
