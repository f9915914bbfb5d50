r"""``layers_to_transform`` is compared with the numbers of experts.

PEFT takes the first number of a path that follows two names. Where the blocks are at
the root of a model its path begins ``layers.0.``, and the next number is an expert's:
one expert of every block gets an adapter, in place of all in one block.

Fix: ``layers_pattern="layers"`` beside ``layers_to_transform``; before PEFT 0.21, which
knows no pattern at the root, an expression: ``target_modules=r"layers\.1\..*"``.
Source: huggingface/peft#3016, #3318 (up to 0.19 at any depth).
"""

from ftlab.faults.builders import Case, Fault, lora, plain_case
from ftlab.faults.builders.many_ways import own_with_ways


def build(fixed: bool) -> Case:
    """Build LoRA on the experts of one block."""
    meant = {"target_modules": r"tower\.1\..*\.(wide|narrow)"}
    asked = {"target_modules": ["wide", "narrow"], "layers_to_transform": [1]}
    model = lora(own_with_ways(), **(meant if fixed else asked))
    return plain_case(model, lr=1e-2)


FAULT = Fault(
    "blocks carry adapters that were not to be adapted",
    code="ADP012",
    places=("config layers_to_transform",),
    evident=-1,
    families=("own",),
)
