"""L-BFGS: the optimizer itself calls forward and backward, several times per step.

The gradients that it leaves behind belong to its last trial.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, batches, llama, trainable


def build() -> Case:
    """Build L-BFGS on the head of a frozen model, always on the same batch."""
    model = llama().requires_grad_(False)
    model.lm_head.requires_grad_(True)
    optimizer = torch.optim.LBFGS(
        trainable(model), lr=0.5, max_iter=4, history_size=10, tolerance_change=0
    )

    def step(batch: Any) -> float:
        def closure() -> torch.Tensor:
            optimizer.zero_grad()
            loss = model(**batch).loss + 1e-3 * model.lm_head.weight.square().sum()
            loss.backward()
            return loss

        return float(optimizer.step(closure).detach())

    return Case(model, optimizer, batches(1, size=16), step)


HEALTHY = Healthy(
    "several backward passes and zero_grad within one step of the optimizer",
    looks_like=("GRD003", "GRD001", "OPT003", "OPT014"),
)
