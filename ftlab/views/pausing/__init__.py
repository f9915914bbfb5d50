"""The panel and the report of a paused run."""
