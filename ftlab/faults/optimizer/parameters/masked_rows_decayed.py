"""Only new tokens shall learn, and weight decay shrinks all the others.

A hook zeroes the gradient of the old rows. AdamW takes lr x weight decay of each weight
that it holds, whatever its gradient; 0.01 is its default.

Fix: ``weight_decay=0.0`` for the embedding, or ``trainable_token_indices`` of PEFT.
Source: huggingface/diffusers#1009, #1176.
"""

import torch

from ftlab.faults.builders import VOCABULARY, Case, Fault, base, batches, loop_case
from ftlab.faults.builders.new_words import NEW
from ftlab.probes.tokens.token_tables import token_tables


def build(fixed: bool) -> Case:
    """Train the last rows of the embedding, with the decay of AdamW or without."""
    model = base()
    model.requires_grad_(False)
    words = next(each for each in token_tables(model) if not each.output)
    weight = words.weight.requires_grad_(True)

    def keep(gradient: torch.Tensor) -> torch.Tensor:
        gradient = gradient.clone()
        gradient[: VOCABULARY - NEW] = 0
        return gradient

    weight.register_hook(keep)
    decay = 0.0 if fixed else 0.01
    optimizer = torch.optim.AdamW([weight], lr=1e-3, weight_decay=decay)
    places = (f"param {words.name}",)
    made = batches()
    for batch in made:
        for name in ("input_ids", "labels"):
            batch[name][:, 4] = VOCABULARY - NEW + torch.arange(len(batch[name])) % NEW
    return loop_case(model, optimizer, made, places=places)


FAULT = Fault(
    "weight decay moves the rows whose gradient a hook masks",
    code="OPT020",
    places=("param words.weight",),
    steps=8,
    evident=1,
    families=("llama", "gpt2", "neox", "own"),
)
