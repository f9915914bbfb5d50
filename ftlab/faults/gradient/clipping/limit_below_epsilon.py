"""The limit was taken for a tolerance: what it leaves is far below Adam's epsilon.

An update is m / (sqrt(v) + 1e-8). With elements below 1e-10 the epsilon is all that
counts, and weights move by less than a hundredth of the learning rate.

Fix: ``max_norm=1.0``.
Source: torch.optim.AdamW, ``eps``; torch.nn.utils.clip_grad_norm_.
"""

from ftlab.faults.builders import Case, Fault, lora, plain_case


def build(fixed: bool) -> Case:
    """Train LoRA under AdamW."""
    model = lora()
    limit = 1.0 if fixed else 1e-10
    return plain_case(model, loss_of=lambda batch: model(**batch).loss, clip=limit)


FAULT = Fault(
    "the loss is flat, and the norm of the gradients looks normal",
    code="GRD015",
    places=("call clip_grad_norm_",),
    evident=2,
    also=("NUM002",),
    families=("llama", "gpt2", "neox", "own"),
)
