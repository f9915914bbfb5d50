"""Only the head's gradients are cleared; those of the adapter add up.

``model.lm_head.zero_grad()``, or an optimizer that was replaced and whose old name is
still the one that clears: the call is there, and does not concern what is trained.

Fix: clear what is stepped: ``optimizer.zero_grad()``.
Source: the class of stackoverflow.com/q/60335387 (TrainCheck SO-60335387).
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, adamw, batches, lora


def build(fixed: bool) -> Case:
    """Build LoRA with a head that is trained as well."""
    model = lora()
    model.get_output_embeddings().requires_grad_(True)
    optimizer = adamw(model)

    def step(batch: Any) -> float:
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        (optimizer if fixed else model.get_output_embeddings()).zero_grad()
        return float(loss.detach())

    return Case(model, optimizer, batches(), step)


FAULT = Fault(
    "the gradient norm of the adapter grows with every step",
    code="GRD005",
    places=("call optimizer.zero_grad",),
    steps=12,
    evident=3,
    families=("llama", "gpt2", "neox"),
    also=("ADP020",),
)
