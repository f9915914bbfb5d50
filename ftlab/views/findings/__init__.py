"""Findings and checklists."""
