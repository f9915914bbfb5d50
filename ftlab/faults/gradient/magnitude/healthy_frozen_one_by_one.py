"""A full fine-tune that freezes its parts one after another, the lowest first.

The optimizer holds them all until the end; what requires no gradient has none.
"""

from ftlab.faults.builders import Case, Healthy, adamw, base, batches, loop_with

FIRST = 12


def build() -> Case:
    """Build a full fine-tune of which the embedding and a block stop early."""
    model = base()
    for weight in model.parameters():
        weight.requires_grad_(True)
    optimizer = adamw(model)

    def before(done: int) -> None:
        if done == FIRST:
            model.get_input_embeddings().requires_grad_(False)
        elif done == 2 * FIRST:
            model.model.layers[0].requires_grad_(False)

    return loop_with(model, optimizer, batches(), before=before)


HEALTHY = Healthy(
    "gradients of the lower parts end in the middle of the run",
    looks_like=("GRD009", "GRD003", "OPT002"),
    steps=60,
)
