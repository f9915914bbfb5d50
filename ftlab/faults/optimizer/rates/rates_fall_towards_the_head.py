"""Layer-wise rates whose exponent is counted from the embeddings.

The first block has the full rate, each one above it half of the one below: what was
learnt in pretraining is lost first, and the head hardly learns.

Fix: ``lr * decay ** (blocks - 1 - k)`` for block ``k``.
Source: seed; facebookresearch/mae#177 asks for the direction.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, current, gpt2, llama, loop_case, neox

BLOCKS, DECAY, RATE = 4, 0.5, 2e-3


def build(fixed: bool) -> Case:
    """Build full fine-tuning of four blocks, each with a rate of its own."""
    deep = {"gpt2": "n_layer"}.get(current().family, "num_hidden_layers")
    builders = {"llama": llama, "gpt2": gpt2, "neox": neox}
    model = builders[current().family](**{deep: BLOCKS})
    listed = (m for m in model.modules() if isinstance(m, torch.nn.ModuleList))
    blocks = next(each for each in listed if len(each) == BLOCKS)
    inside = {id(p) for p in blocks.parameters()}
    rest = [p for p in model.parameters() if id(p) not in inside]
    groups: list[dict[str, Any]] = [
        {
            "params": list(block.parameters()),
            "lr": RATE * DECAY ** (BLOCKS - 1 - k if fixed else k),
        }
        for k, block in enumerate(blocks)
    ]
    optimizer = torch.optim.AdamW([*groups, {"params": rest}], lr=RATE)
    return loop_case(model, optimizer)


FAULT = Fault(
    "features of the pretrained model are lost, and the head hardly learns",
    code="OPT018",
    places=("optimizer param_groups*",),
    evident=-1,
    families=("llama", "gpt2", "neox"),
)
