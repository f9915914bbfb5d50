"""Looks that are given the words that a glance at their row found."""

from ftlab.probes.data.texts.glance import Glances

GLANCES = Glances()


def glanced(look, row):
    """Return what a look finds in a row."""
    return look(row, GLANCES.at(row).words)
