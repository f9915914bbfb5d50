"""A wrapper satisfies the Trainer with a ``gradient_checkpointing_enable`` of nothing.

The Trainer refuses models that have no such method. One that is there and empty lets it
pass, and the model inside is never told.

Fix: pass the call on: ``self.model.gradient_checkpointing_enable(...)``.
Source: NVIDIA-NeMo/Automodel#1621 (models that never look at the mark); measured.
"""

from typing import Any

from torch import nn

from ftlab.faults.builders import Case, Fault, base, trained


class Wrapper(nn.Module):
    """A model around a model, as for a task of one's own.

    Parameters
    ----------
    told
        Whether it passes on what it is asked for.
    """

    def __init__(self, model: Any, *, told: bool) -> None:
        super().__init__()
        self.model = model
        self.told = told

    def forward(self, input_ids: Any, attention_mask: Any, labels: Any) -> Any:
        """Run the model inside."""
        return self.model(
            input_ids=input_ids, attention_mask=attention_mask, labels=labels
        )

    def gradient_checkpointing_enable(self, *asked: Any, **settings: Any) -> None:
        """Please the Trainer."""
        if self.told:
            self.model.gradient_checkpointing_enable(*asked, **settings)


def build(fixed: bool) -> Case:
    """Ask a Trainer for checkpointing."""
    model = Wrapper(base(), told=fixed)
    return trained(model, gradient_checkpointing=True, max_steps=6)


FAULT = Fault(
    "gradient_checkpointing=True changes nothing in memory",
    code="MOD011",
    places=("config gradient_checkpointing",),
    evident=1,
    families=("llama", "gpt2", "neox"),
)
