"""``lora_dropout`` is set in the configuration after the layers were made.

A layer gets its dropout when it is made; for 0 it gets none. What is set afterwards is
logged and saved, and changes nothing.

Fix: set it before ``get_peft_model``.
Source: seed; PEFT's ``update_layer`` reads the configuration once.
"""

from ftlab.faults.builders import Case, Fault, current, lora, plain_case

CHANCE = 0.1


def build(fixed: bool) -> Case:
    """Build LoRA, and ask for a dropout before or after."""
    model = lora(lora_dropout=CHANCE if fixed else 0.0).train()
    model.peft_config[current().adapter].lora_dropout = CHANCE
    return plain_case(model)


FAULT = Fault(
    "the model overfits as if it had no dropout, and it has none",
    code="MOD017",
    places=("config lora_dropout",),
    steps=4,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
