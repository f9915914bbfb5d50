"""Hidden states that are detached on their way from one block to the next.

Truncated backpropagation that was copied from a recurrent model, or ``.data`` to save
memory: no module's own output is wrong, what the next one gets is.

Fix: hand on the tensor itself.
Source: the evidence class of locuslab/open-unlearning#178.
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, adamw, batches, lora, plain_step
from ftlab.faults.builders.blocks import block_name, blocks, deep_base

BLOCK = 2


def build(fixed: bool) -> Case:
    """Build LoRA on a model whose third block gets a detached input."""
    model = lora(deep_base())

    def detached(_: Any, args: Any, kwargs: Any) -> Any:
        if fixed:
            return None
        if args:
            return (args[0].detach(), *args[1:]), kwargs
        return args, kwargs | {"hidden_states": kwargs["hidden_states"].detach()}

    target = blocks(model)[BLOCK]
    target.register_forward_pre_hook(detached, with_kwargs=True)
    optimizer = adamw(model)
    step = plain_step(model, optimizer)
    places = (
        f"module {block_name(model, BLOCK - 1)}",
        f"module {block_name(model, BLOCK)}",
        "op detach",
    )
    return Case(model, optimizer, batches(), step, places=places)


FAULT = Fault(
    "the lower blocks do not learn, and each block alone is right",
    code="GRD003",
    places=("module *.1", "module *.2", "op detach"),
    steps=10,
    also=("ADP001",),
    families=("llama", "gpt2", "neox", "own"),
)
