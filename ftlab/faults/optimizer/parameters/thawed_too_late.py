"""A block is unfrozen in the middle of the run, and the optimizer never hears of it.

Gradual unfreezing by a callback: ``requires_grad_(True)`` after the optimizer was built
from what was trainable at the start.

Fix: ``optimizer.add_param_group`` for what is unfrozen, or build it from all of them.
Source: seen in callbacks for transformers' Trainer, which builds its optimizer from
what requires a gradient at the start.
"""

from ftlab.faults.builders import Case, Fault, adamw, at, base, batches, loop_with
from ftlab.faults.builders.blocks import blocks

THAW = 4


def build(fixed: bool) -> Case:
    """Build a model whose last block is trained, and the first from a step on."""
    model = base()
    model.requires_grad_(False)
    tower = blocks(model)
    tower[-1].requires_grad_(True)
    optimizer = adamw(model)

    def thaw() -> None:
        tower[0].requires_grad_(True)
        if fixed:
            optimizer.add_param_group({"params": list(tower[0].parameters())})

    return loop_with(model, optimizer, batches(), before=at(THAW, thaw))


FAULT = Fault(
    "layers that are unfrozen during the run never change",
    code="OPT002",
    places=("param *",),
    steps=18,
    evident=THAW,
    families=("llama", "gpt2", "neox", "own"),
)
