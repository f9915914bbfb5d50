"""Gradual unfreezing, from the head down: a layer more every 50 steps.

What is frozen has no gradient and stands still; each newly thawed layer is added to the
optimizer then, so groups and trainable parameters change during the run.
"""

import torch

from ftlab.faults.builders import Case, Healthy, batches, llama, loop_with

EVERY = 50


def build() -> Case:
    """Build a Llama of three layers of which only the head is trained at first."""
    model = llama(num_hidden_layers=3).requires_grad_(False)
    model.lm_head.requires_grad_(True)
    optimizer = torch.optim.AdamW(model.lm_head.parameters(), lr=1e-3)
    frozen = list(model.model.layers)

    def before(done: int) -> None:
        if frozen and done % EVERY == EVERY - 1:
            layer = frozen.pop().requires_grad_(True)
            optimizer.add_param_group({"params": list(layer.parameters()), "lr": 5e-4})

    return loop_with(model, optimizer, batches(), before=before)


HEALTHY = Healthy(
    "layers have no gradient until it is their turn",
    looks_like=("GRD003", "OPT002", "OPT001"),
)
