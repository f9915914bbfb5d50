"""The loop keeps the model's outputs of a step until the next forward has ended.

The logits of two steps lie in memory at once.

Fix: ``del outputs`` once the loss was read, or compute a step in a function.
Source: meta-pytorch/torchtune#1046; foundation-model-stack/fms-fsdp#152.
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, adamw, batches, lora


def build(fixed: bool) -> Case:
    """Build a loop with a name for the outputs that outlives the step."""
    model = lora()
    optimizer = adamw(model)
    latest: dict[str, Any] = {}

    def step(batch: Any) -> float:
        optimizer.zero_grad()
        latest["outputs"] = model(**batch, output_hidden_states=True)
        latest["outputs"].loss.backward()
        optimizer.step()
        loss = float(latest["outputs"].loss.detach())
        if fixed:
            latest.clear()
        return loss

    return Case(model, optimizer, batches(size=32), step)


FAULT = Fault(
    "memory runs out from the second step on, and not in the first",
    code="MEM002",
    places=("object *latest*outputs*",),
    steps=12,
    evident=8,
)
