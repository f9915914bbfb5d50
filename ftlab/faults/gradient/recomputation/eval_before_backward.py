"""``model.eval()`` between forward and backward, under gradient checkpointing.

A loop that generates a sample for its log before it calls backward: what backward
computes again runs without dropout, so the gradients belong to another pass.

Fix: change the mode only after backward.
Source: seed; same end state as openai/guided-diffusion#167 (other dropout in backward).
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, adamw, base, batches, lora


def build(fixed: bool) -> Case:
    """Build LoRA with dropout and checkpointing."""
    model = lora(base(), lora_dropout=0.3)
    model.enable_input_require_grads()
    model.gradient_checkpointing_enable({"use_reentrant": True})
    model.train()
    optimizer = adamw(model)

    def step(batch: Any) -> float:
        optimizer.zero_grad()
        loss = model.train()(**batch).loss
        if not fixed:
            for module in model.modules():
                if type(module).__name__ == "Dropout":
                    module.eval()
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    return Case(model, optimizer, batches(), step)


FAULT = Fault(
    "gradients are biased, and dropout seems to do nothing",
    code="GRD004",
    places=("module *lora_dropout*", "module *lora_A*", "config preserve_rng_state"),
    evident=1,
)
