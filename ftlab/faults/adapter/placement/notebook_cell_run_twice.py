"""The cell with ``model = get_peft_model(model, config)`` is run a second time.

``model`` is a PeftModel by then, and is wrapped once more.

Fix: load the base in the cell that calls get_peft_model.
Source: huggingface/peft#1040, #2115.
"""

import warnings

from ftlab.faults.builders import Case, Fault, current, lora, plain_case


def build(fixed: bool) -> Case:
    """Build a LoRA model once, or twice."""
    model = lora()
    if not fixed:
        with warnings.catch_warnings(action="ignore"):
            kind = model.peft_config[current().adapter].task_type
            model = lora(model, task_type=kind)
    return plain_case(model, lr=1e-2)


FAULT = Fault(
    "the saved adapter cannot be loaded after a notebook's cell was run twice",
    code="ADP014",
    places=("module *base_model.model.base_model",),
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
