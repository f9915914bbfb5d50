"""A module of one's own is put around the PeftModel, and a Trainer trains it.

The Trainer's PEFT branches look at the outer object: checkpoints hold the whole model
in ``model.safetensors`` and no ``adapter_config.json``.

Fix: put the wrapper's parts on the base model before get_peft_model.
Source: huggingface/transformers#24274.
"""

from typing import Any

from torch import nn

from ftlab.faults.builders import Case, Fault, lora, trained


class Wrapped(nn.Module):
    """Passes everything on."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(
        self, input_ids: Any = None, attention_mask: Any = None, labels: Any = None
    ) -> Any:
        """Call the inner model."""
        return self.inner(
            input_ids=input_ids, attention_mask=attention_mask, labels=labels
        )


def build(fixed: bool) -> Case:
    """Build a Trainer that saves a checkpoint."""
    model = lora()
    settings = {"max_steps": 4, "save_strategy": "steps", "save_steps": 2}
    return trained(model if fixed else Wrapped(model), **settings)


FAULT = Fault(
    "checkpoints hold the whole model and no adapter",
    code="ADP021",
    places=("module inner", "file model.safetensors"),
    steps=4,
    evident=-1,
)
