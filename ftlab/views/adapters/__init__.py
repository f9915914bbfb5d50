"""Views of the adapter laboratory."""
