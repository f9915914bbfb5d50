"""Only the first parameter group is clipped.

``optimizer.param_groups[0]["params"]`` was all there was until the second factors got a
learning rate of their own.

Fix: clip the parameters of all groups.
Source: huggingface/transformers#614 has groups whose norm is not that of all.
"""

import torch

from ftlab.faults.builders import Case, Fault, lora, updated_by

LIMIT = 0.02


def build(fixed: bool) -> Case:
    """Train LoRA whose second factors learn faster."""
    model = lora()
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    firsts = [p for name, p in named if "lora_A" in name]
    seconds = [p for name, p in named if "lora_A" not in name]
    groups = [{"params": firsts, "lr": 1.0}, {"params": seconds, "lr": 2.0}]
    optimizer = torch.optim.SGD(groups)

    def update() -> None:
        chosen = optimizer.param_groups if fixed else optimizer.param_groups[:1]
        weights = [each for group in chosen for each in group["params"]]
        torch.nn.utils.clip_grad_norm_(weights, LIMIT)
        optimizer.step()

    return updated_by(update, model, optimizer)


FAULT = Fault(
    "a limit is set, and half of the updates exceed it",
    code="GRD013",
    places=("call clip_grad_norm_",),
    evident=2,
    families=("llama", "gpt2", "neox", "own"),
)
