"""Two adapters are combined, and the evaluation measures one of them.

``add_weighted_adapter`` makes the new adapter and leaves the active one as it was.

Fix: ``model.set_adapter("both")`` before the evaluation.
Source: huggingface/peft#1444.
"""

import torch

from ftlab.faults.adapter.several_adapters.combined_with_rslora import two_trained
from ftlab.faults.builders import Case, Fault, batches, current, plain_case


def build(fixed: bool) -> Case:
    """Train one of two adapters, combine them, and look."""
    model = two_trained()
    made, names = batches(), [current().adapter, "other"]

    def afterwards() -> None:
        model.add_weighted_adapter(names, [0.5, 0.5], "both", combination_type="cat")
        if fixed:
            model.set_adapter("both")
        model.eval()
        with torch.no_grad():
            for batch in made[:2]:
                model(**batch)

    return plain_case(model, rows=made, afterwards=afterwards)


FAULT = Fault(
    "the blend of two adapters evaluates exactly like one of them",
    code="ADP038",
    places=("call set_adapter", "call add_weighted_adapter", "config active_adapters"),
    steps=4,
    evident=3,
    families=("llama", "gpt2", "neox", "own"),
)
