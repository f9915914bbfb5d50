r"""An alpha for block 1 is used in blocks 10 and 11 as well.

Keys of ``alpha_pattern`` are regular expressions. The rest of the number is taken by
what stands behind it.

Fix: ``r"layers\.1\..*"``.
Source: PEFT, `LoraConfig.alpha_pattern` and `peft.utils.other.get_pattern_key`; seed.
"""

from ftlab.faults.builders import Case, Fault, lora, plain_case
from ftlab.faults.builders.blocks import block_name, deep_base

DEPTH = 12


def build(fixed: bool) -> Case:
    """Build a LoRA with an alpha of its own in one block."""
    model = deep_base(DEPTH)
    name = block_name(model, 1)
    key = name.replace(".", r"\.") + r"\..*" if fixed else name + ".*"
    model = lora(model, alpha_pattern={key: 4})
    return plain_case(model, lr=1e-2)


FAULT = Fault(
    "the alpha of some blocks is that of another one",
    code="ADP012",
    places=("config alpha_pattern",),
    steps=4,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
