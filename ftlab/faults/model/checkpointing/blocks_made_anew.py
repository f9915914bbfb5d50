"""Blocks were replaced by new ones after checkpointing was switched on.

The mark was set on the old blocks. The new ones (other sizes, a copy of the weights, a
pruned model) carry none, and the model says that checkpointing is on.

Fix: ``model.gradient_checkpointing_enable()`` after the blocks were replaced.
Source: transformers `modeling_utils.py` (_set_gradient_checkpointing); measured.
"""

from ftlab.faults.builders import Case, Fault, plain_case
from ftlab.faults.builders.blocks import blocks
from ftlab.faults.builders.checkpointing import checkpointed


def build(fixed: bool) -> Case:
    """Make each block anew, with the weights of the old one."""
    model = checkpointed()
    tower = blocks(model)
    for index, block in enumerate(list(tower)):
        new = type(block)(model.config, index)
        new.load_state_dict(block.state_dict())
        tower[index] = new.train()
    if fixed:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    return plain_case(model)


FAULT = Fault(
    "the model says that checkpointing is on, and memory says that it is not",
    code="MOD011",
    places=("module *",),
    evident=1,
    families=("llama", "gpt2", "neox"),
)
