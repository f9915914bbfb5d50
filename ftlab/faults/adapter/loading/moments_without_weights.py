"""A run is resumed by hand: the optimizer's state is loaded and the adapter is not.

The keys of the adapter's file were not found. Adam's moments are those of a trained
adapter and push a fresh one, whose B is 0, in directions that are long over.

Fix: load the adapter's weights too, and look at ``unexpected_keys``.
Source: MakazhanAlpamys/Soup#335, huggingface/transformers#24252.
"""

import copy

from ftlab.faults.builders import Case, Fault, adamw, loop_case, lora


def build(fixed: bool) -> Case:
    """Build the second half of a run."""
    model = lora()
    optimizer = adamw(model, lr=5e-3)
    loop_case(model, optimizer).run(12)
    again = lora()
    state = {k: v for k, v in model.state_dict().items() if "lora_" in k}
    named = state if fixed else {f"module.{k}": v for k, v in state.items()}
    again.load_state_dict(named, strict=False)
    second = adamw(again, lr=5e-3)
    second.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    return loop_case(again, second)


FAULT = Fault(
    "a resumed run begins at the loss of the base model",
    code="ADP026",
    places=("param *lora_B*", "file adapter keys"),
    steps=4,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
