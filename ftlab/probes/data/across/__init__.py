"""What only several rows together tell."""
