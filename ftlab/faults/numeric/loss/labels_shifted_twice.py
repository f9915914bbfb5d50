"""The data shift the labels, and the model shifts them again.

Each position is asked for the token after the next one. The loss falls, somewhat less
than it should; what the model writes drops every second word.

Fix: ``labels = input_ids``; causal models of transformers shift by themselves.
Source: huggingface/transformers#44642 (asked again and again).
"""

import torch

from ftlab.faults.builders import Case, Fault, batches, lora, plain_case


def build(fixed: bool) -> Case:
    """Shift the labels of each batch."""
    model = lora()
    made = batches()
    for batch in [] if fixed else made:
        ids = batch["input_ids"]
        none = torch.full_like(ids[:, :1], -100)
        batch["labels"] = torch.cat([ids[:, 1:], none], 1)
    return plain_case(model, rows=made)


FAULT = Fault(
    "the loss falls a little late, and answers drop every second word",
    code="NUM014",
    places=("data labels",),
    evident=1,
    families=("llama", "gpt2", "neox"),
)
