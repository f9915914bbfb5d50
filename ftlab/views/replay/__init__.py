"""The replayed step, op by op."""
