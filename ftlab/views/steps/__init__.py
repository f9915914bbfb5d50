"""What is measured by step."""
