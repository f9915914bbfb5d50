"""What holds memory, and what of it grows: one walk over all that Python can reach."""
