"""What a run does by itself when something goes wrong, because its user chose it."""
