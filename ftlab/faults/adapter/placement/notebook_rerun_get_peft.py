"""get_peft_model is called again on a base that it has changed before.

The layers of the first call stay, trained values and all, next to those of the second.

Fix: ``base = model.unload()`` before, or load the base anew.
Source: huggingface/peft#2295, #1040.
"""

import warnings

from ftlab.faults.builders import Case, Fault, loop_case, plain_case
from ftlab.faults.builders.tiny import adamw, attention, base, feed_forward, lora


def build(fixed: bool) -> Case:
    """Put an adapter on a base that has, or had, another one."""
    model = base()
    targets = attention(model) + feed_forward(model)
    first = lora(model, target_modules=targets[:1])
    optimizer = adamw(first, lr=5e-2)
    loop_case(first, optimizer).run(4)
    model = first.unload() if fixed else model
    with warnings.catch_warnings(action="ignore"):
        model = lora(model, target_modules=targets[1:])
    return plain_case(model, lr=1e-2)


FAULT = Fault(
    "after a cell is run again with another configuration old adapters are active",
    code="ADP014",
    places=("module *",),
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
