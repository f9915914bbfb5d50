"""Debugging as its user holds it: commands, notebook cells, snapshots and scripts."""
