"""What is wrong with an answer, beside what was asked."""
