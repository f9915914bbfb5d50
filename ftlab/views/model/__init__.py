"""A model as a tree of modules."""
