"""The pair of the embedding is frozen at 0 until the other pairs have settled.

The optimizer holds it from the start: it is told by this that it waits for its turn.
"""

import torch

from ftlab.faults.builders import Case, Healthy, adamw, at, batches, loop_with, lora

TURN = 4
"""The step from which the pair of the embedding learns."""


def build() -> Case:
    """Build LoRA on the embedding and the attention projections, in two stages."""
    model = lora(target_modules=["embed_tokens", "q_proj", "v_proj"])
    optimizer, made = adamw(model), batches()
    later: list[torch.nn.Parameter] = [
        weight for name, weight in model.named_parameters() if "lora_embedding" in name
    ]
    for weight in later:
        weight.requires_grad_(False)

    def turn() -> None:
        for weight in later:
            weight.requires_grad_(True)

    return loop_with(model, optimizer, made, before=at(TURN, turn))


HEALTHY = Healthy(
    "lora_embedding_A and B are frozen at 0 while all other pairs learn",
    looks_like=("ADP010", "ADP001"),
)
