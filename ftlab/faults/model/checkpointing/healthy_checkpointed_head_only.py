"""Checkpointing is on, and nothing but a head is trained: nothing has to run again.

The blocks are frozen and have no graph, so that they keep no activations either.
"""

from ftlab.faults.builders import Case, Healthy, plain_case
from ftlab.faults.builders.checkpointing import checkpointed


def build() -> Case:
    """Train the output head of a frozen model."""
    model = checkpointed()
    if hasattr(model, "_require_grads_hook"):  # not before transformers 5
        model.disable_input_require_grads()
    model.requires_grad_(requires_grad=False)
    model.get_output_embeddings().requires_grad_()
    return plain_case(model)


HEALTHY = Healthy(
    "marked blocks that do not run in backward",
    looks_like=("MOD011", "GRD003"),
)
