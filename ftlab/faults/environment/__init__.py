"""Faults of settings and versions: arguments that contradict each other."""
