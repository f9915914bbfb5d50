"""A loss is measured on the side with gradients on, and the tensor is kept in a list.

Nobody calls backward on it, so it keeps its graph, with all activations of its step.

Fix: `losses.append(loss.item())`, and `torch.no_grad()` around what is only measured.
Source: huggingface/transformers#6999; ray-project/ray#40940; horovod/horovod#641.
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, adamw, batches, lora, plain_step


def build(fixed: bool) -> Case:
    """Keep the loss of each step, as a number or with its graph."""
    model = lora()
    optimizer = adamw(model)
    train = plain_step(model, optimizer)
    losses: list[Any] = []

    def step(batch: Any) -> float:
        loss = model(**batch).loss
        losses.append(loss.item() if fixed else loss)
        return train(batch)

    return Case(model, optimizer, batches(), step)


FAULT = Fault(
    "memory grows with each step until there is none left",
    code="MEM001",
    places=("object *losses",),
    steps=20,
    evident=18,
)
