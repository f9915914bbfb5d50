"""A key of ``alpha_pattern`` is misspelled: those layers keep the common alpha.

Fix: the end of the module's name as key.
Source: huggingface/peft#3582.
"""

from ftlab.faults.builders import Case, Fault, attention, base, lora, plain_case


def build(fixed: bool) -> Case:
    """Build a LoRA model with an alpha for one projection."""
    model = base()
    name = attention(model)[0]
    model = lora(model, alpha_pattern={name if fixed else f"{name}s": 4})
    return plain_case(model, lr=1e-2)


FAULT = Fault(
    "the alpha of some layers is not what alpha_pattern says",
    code="ADP012",
    places=("config alpha_pattern",),
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
