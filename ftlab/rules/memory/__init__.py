"""Rules about memory over the run."""
