"""Stops that the user asks for: at places, and where a tensor looks wrong."""
