"""The best weights are kept in a variable, without a copy, and put back at the end.

``state_dict()`` gives the weights themselves: what was kept has been trained on with
them. Loading it changes nothing, and the last weights are used as the best ones.

Fix: ``copy.deepcopy(model.state_dict())``.
Source: pytorch/tutorials#188, pytorch/pytorch#34765, WenjieDu/PyPOTS#667,
thunlp/OpenKE#131.
"""

import copy
from typing import Any

from ftlab.faults.builders import Case, Fault, adamw, at, batches, loop_with, lora

BEST = 3
"""The step that the evaluation likes best."""


def build(fixed: bool) -> Case:
    """Build a loop that keeps a state and goes back to it."""
    model = lora()
    optimizer = adamw(model, lr=1e-2)
    kept: dict[str, Any] = {}

    def keep() -> None:
        state = {k: v for k, v in model.state_dict().items() if "lora_" in k}
        kept.update(copy.deepcopy(state) if fixed else state)

    def restore() -> None:
        model.load_state_dict(kept, strict=False)

    return loop_with(
        model, optimizer, batches(), after=at(BEST, keep), afterwards=restore
    )


FAULT = Fault(
    "the best weights, put back at the end, score like the last ones",
    code="ADP033",
    places=("call load_state_dict", "call state_dict"),
    steps=8,
    evident=7,
    families=("llama", "gpt2", "neox", "own"),
)
