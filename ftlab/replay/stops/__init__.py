"""What a stop shows: its report, the live values behind it, and their words."""
