"""A second adapter is trained with the first one's optimizer.

``set_adapter("b")`` makes b trainable and freezes the first adapter; the optimizer
still holds the first one.

Fix: build the optimizer anew after set_adapter, or add a group.
Source: huggingface/peft#1303.
"""

from ftlab.faults.builders import Case, Fault, adamw, loop_case, lora


def build(fixed: bool) -> Case:
    """Build two adapters and go over to the second one."""
    model = lora()
    model.add_adapter("b", model.peft_config[model.active_adapter])
    optimizer = adamw(model, lr=1e-2)
    model.set_adapter("b")
    if fixed:
        optimizer = adamw(model, lr=1e-2)
    return loop_case(model, optimizer)


FAULT = Fault(
    "the second adapter learns nothing",
    code="OPT002",
    places=("param *.lora_A.b.*", "param *.lora_B.b.*"),
)
