"""A LoraConfig that was read back from a saved adapter trains nothing.

``save_pretrained`` writes ``inference_mode: true``. Passed to get_peft_model again it
freezes the fresh adapter; a head in ``modules_to_save`` keeps backward from failing.

Fix: ``config.inference_mode = False``.
Source: huggingface/transformers#24463, huggingface/peft#282.
"""

from ftlab.faults.builders import Case, Fault, base, lora, plain_case
from ftlab.faults.builders.heads import head


def build(fixed: bool) -> Case:
    """Build a model with LoRA and a trained head."""
    model = base()
    model = lora(model, modules_to_save=[head(model)], inference_mode=not fixed)
    # PEFT freezes the saved copy of the head as well; the user wanted the head.
    for name, parameter in model.named_parameters():
        if "modules_to_save" in name:
            parameter.requires_grad_(True)
    return plain_case(model)


FAULT = Fault(
    "an adapter made from a saved configuration does not learn",
    code="ADP010",
    places=("config inference_mode", "param *.lora_*"),
    steps=8,
    evident=-1,
    families=("llama", "neox", "own"),
)
