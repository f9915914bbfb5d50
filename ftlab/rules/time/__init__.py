"""Rules about where the time of steps goes."""
