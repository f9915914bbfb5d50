"""A step on disk, complete enough to run in another process."""
