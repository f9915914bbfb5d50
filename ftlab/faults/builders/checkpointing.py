"""Models with gradient checkpointing, as transformers switches it on."""

from typing import Any

from ftlab.faults.builders.tiny import base


def checkpointed() -> Any:
    """Build a model in training mode with all its blocks marked."""
    model = base().train()
    model.gradient_checkpointing_enable({"use_reentrant": False})
    return model
