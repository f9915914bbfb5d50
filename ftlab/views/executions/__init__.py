"""Two executions: what they differ in."""
