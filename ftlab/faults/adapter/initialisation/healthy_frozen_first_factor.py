"""LoRA-FA: A stays as it was drawn, only B learns, which saves memory.

PEFT's optimizer projects the gradient of B and leaves A alone.
"""

from ftlab.faults.builders import Case, Healthy, current, loop_case, lora


def build() -> Case:
    """Build LoRA with the optimizer of LoRA-FA."""
    from peft.optimizers import create_lorafa_optimizer

    model = lora()
    rank = current().rank
    optimizer = create_lorafa_optimizer(model, r=rank, lora_alpha=2 * rank, lr=1e-3)
    return loop_case(model, optimizer)


HEALTHY = Healthy(
    "A has no gradient and never moves",
    looks_like=("ADP001", "GRD003", "OPT002"),
)
