"""Tests of `ftlab.experiments.deployment`."""
