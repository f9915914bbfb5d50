"""What `generate` was called with, for the rules about prompts."""

from ftlab.rules.rule import needs_operations

GENERATED = needs_operations(
    "generate", "a generation", "ftlab.watch(...) while model.generate(...) is called"
)
