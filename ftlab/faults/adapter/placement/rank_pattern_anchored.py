"""A key of ``rank_pattern`` begins with ``^``, and can never match.

PEFT lets any path stand before a key; with an anchor it matches no layer, and the rank
stays at its default.

Fix: the end of the module's name as key.
Source: huggingface/peft#3582.
"""

from ftlab.faults.builders import Case, Fault, attention, base, lora, plain_case


def build(fixed: bool) -> Case:
    """Build a LoRA model with a rank for one projection."""
    model = base()
    name = attention(model)[0]
    pattern = {name: 2} if fixed else {f"^model.{name}": 2}
    model = lora(model, rank_pattern=pattern)
    return plain_case(model)


FAULT = Fault(
    "the rank of some layers is not what rank_pattern says",
    code="ADP012",
    places=("config rank_pattern",),
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
