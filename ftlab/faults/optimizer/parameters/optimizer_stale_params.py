"""The vocabulary grows after the optimizer was built.

``resize_token_embeddings`` replaces the head's parameter. The optimizer goes on with
the old one, which no forward reads; the new one is in no group.

Fix: resize first, build the optimizer afterwards.
Source: the class of huggingface/accelerate#3256 and #2665.
"""

from ftlab.faults.builders import Case, Fault, adamw, llama, loop_case


def build(fixed: bool) -> Case:
    """Build a model in full fine-tuning that gets eight new tokens."""
    model = llama()
    optimizer = adamw(model)
    model.resize_token_embeddings(136, mean_resizing=False)
    if fixed:
        optimizer = adamw(model)
    return loop_case(model, optimizer)


FAULT = Fault(
    "new tokens do not learn",
    code="OPT001",
    places=("optimizer optimizer 0",),
    also=("OPT002",),
    traincheck="AC-2665",
)
