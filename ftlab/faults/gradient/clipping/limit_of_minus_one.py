"""The limit is -1, which was to mean that nothing is clipped.

torch multiplies by ``limit / norm``: the gradients are turned round, and the loss is
climbed.

Fix: leave the call out; ``max_norm=inf`` gives the norm and changes nothing.
Source: OpenNMT/OpenNMT-py#1140 asks it of 0, which makes all gradients 0.
"""

from ftlab.faults.builders import Case, Fault, lora, plain_case


def build(fixed: bool) -> Case:
    """Train LoRA with clipping switched off, as somebody thought."""
    model = lora()
    limit = float("inf") if fixed else -1.0
    return plain_case(model, loss_of=lambda batch: model(**batch).loss, clip=limit)


FAULT = Fault(
    "the loss climbs at any learning rate",
    code="GRD015",
    places=("call clip_grad_norm_",),
    evident=2,
    families=("llama", "gpt2", "neox", "own"),
)
