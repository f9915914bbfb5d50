"""The targets of QLoRA are collected with ``type(m) is nn.Linear``.

The layers of a model in 4 bits are of another class. What is left is the head, which is
not quantised: the adapter stands on it alone, behind blocks that never learn.

Fix: ``target_modules="all-linear"``, or ``isinstance(m, nn.Linear)`` but for the head.
Source: huggingface/peft#507 (the classes of a 4-bit model).
"""

from torch import nn

from ftlab.faults.builders import Case, Fault, base, lora, plain_case
from ftlab.faults.builders.blocks import four_bit
from ftlab.faults.builders.heads import head


def build(fixed: bool) -> Case:
    """Build QLoRA on the linear layers that the list has found."""
    from peft import prepare_model_for_kbit_training

    bare = prepare_model_for_kbit_training(
        four_bit(base()), gradient_checkpointing_kwargs={"use_reentrant": False}
    )
    linear = {
        name.rpartition(".")[2]
        for name, module in bare.named_modules()
        if (isinstance(module, nn.Linear) if fixed else type(module) is nn.Linear)
    }
    model = lora(
        bare, target_modules=sorted(linear - {head(bare)} if fixed else linear)
    )
    return plain_case(model.train())


FAULT = Fault(
    "few parameters are trainable, and the model hardly learns",
    code="ADP012",
    places=("module *.layers.*", "config target_modules"),
    evident=-1,
    families=("llama", "neox"),
    needs=("bitsandbytes>=0.46",),
)
