"""What PEFT's configurations asked for, against what became of it."""
