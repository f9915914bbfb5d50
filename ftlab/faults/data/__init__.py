"""Faults of the data: which tokens a run is given, and which of them it trains."""
