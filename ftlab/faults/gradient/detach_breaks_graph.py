"""A hook that keeps hidden states hands the detached copy on.

The layers below the hook receive no gradient. The loss still falls, for the layers
above learn, only more slowly than it should.

Fix: return the tensor that came in, and detach only the copy that is kept.
Source: the evidence class of locuslab/open-unlearning#178.
"""

from typing import Any

from ftlab.faults.fault import Case, Fault, plain_step
from ftlab.faults.tiny import adamw, batches, llama, lora


def build(fixed: bool) -> Case:
    """Build a four-layer LoRA model with a hook on its second layer."""
    model = lora(llama(num_hidden_layers=4))
    kept: list[Any] = []

    def hook(_module: Any, _inputs: Any, output: Any) -> Any:
        hidden = output[0] if isinstance(output, tuple) else output
        kept[:] = [hidden.detach()]
        passed = hidden if fixed else kept[0]
        return (passed, *output[1:]) if isinstance(output, tuple) else passed

    model.base_model.model.model.layers[1].register_forward_hook(hook)
    optimizer = adamw(model)
    return Case(model, optimizer, batches(), plain_step(model, optimizer))


FAULT = Fault(
    "detach-breaks-graph",
    "only the upper half of the adapters learns",
    code="GRD003",
    places=("module *layers.1",),
    builder=build,
    steps=10,
    also=("ADP001",),
)
