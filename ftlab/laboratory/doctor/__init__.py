"""What is wrong with a machine or its packages, before anything is trained."""
