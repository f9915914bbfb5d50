"""What randomness a run draws from, and what data it has led to."""
