"""Ways to draw: heat maps, lines, columns; whatever the subject."""
