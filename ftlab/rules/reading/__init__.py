"""What several rules read of a run."""
