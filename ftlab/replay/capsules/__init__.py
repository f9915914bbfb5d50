"""What a step and an optimizer's step change, kept so that they can run again."""
