"""A projection is a target and in modules_to_save: it is trained in full.

PEFT copies the module, trains all of the copy, and puts no adapter on it.

Fix: leave it out of ``modules_to_save``.
Source: huggingface/peft#577 (comments).
"""

from ftlab.faults.builders import Case, Fault, attention, base, feed_forward, lora
from ftlab.faults.builders.loops import plain_case


def build(fixed: bool) -> Case:
    """Build a LoRA that names one layer twice."""
    model = base()
    names = [*attention(model), *feed_forward(model)]
    model = lora(
        model, target_modules=names, modules_to_save=None if fixed else [names[-1]]
    )
    return plain_case(model)


FAULT = Fault(
    "a layer of each block is trained in full, not its adapter",
    code="ADP016",
    places=("param *.modules_to_save.*",),
    steps=4,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
