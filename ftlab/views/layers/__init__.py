"""What is measured by layer."""
