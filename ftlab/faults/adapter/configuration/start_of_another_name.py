"""``eva_config=...`` and no ``init_lora_weights="eva"``: plain LoRA is trained.

The settings of a start are there, and the switch is not. PEFT warns once (of LoRA-GA's
not even that), and the results are reported under the name of the method.

Fix: ``init_lora_weights="eva"``, and ``initialize_lora_eva_weights`` with the data.
Source: peft's ``LoraConfig.__post_init__``.
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, lora, plain_case


def build(fixed: bool) -> Case:
    """Build LoRA with settings that nothing asks for, or without them."""
    from peft import EvaConfig

    settings: dict[str, Any] = {} if fixed else {"eva_config": EvaConfig()}
    model = lora(**settings)
    return plain_case(model)


FAULT = Fault(
    "a better start of LoRA makes no difference at all",
    code="ADP040",
    places=("config eva_config",),
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
