"""A sweep that keeps only names with ``lora_`` freezes the copies in modules_to_save.

Fix: keep ``modules_to_save`` in the sweep as well, or leave ``requires_grad`` alone.
Source: huggingface/peft#1070, #577 (heads that are not trained).
"""

from ftlab.faults.builders import Case, Fault, base, lora, plain_case
from ftlab.faults.builders.heads import head


def build(fixed: bool) -> Case:
    """Build a LoRA model with a trained head, and sweep over it."""
    model = base()
    model = lora(model, modules_to_save=[head(model)])
    if not fixed:
        for name, parameter in model.named_parameters():
            parameter.requires_grad_("lora_" in name)
    return plain_case(model, lr=1e-2)


FAULT = Fault(
    "the head that was to be trained and saved does not change",
    code="ADP010",
    places=("param *.modules_to_save.*",),
    evident=-1,
    families=("llama", "neox", "own"),
)
