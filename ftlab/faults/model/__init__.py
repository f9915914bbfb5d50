"""Models that are not what they seem: quantised, compiled, empty."""
