"""Where the time of each step goes."""
