"""The head is unfrozen by hand, beside the adapter.

``requires_grad_(True)`` on the head makes it learn, but save_pretrained writes LoRA's
own tensors and modules_to_save only: evaluation in the same process is good, and after
loading the adapter the head is the old one.

Fix: ``modules_to_save=["lm_head"]`` in the configuration.
Source: huggingface/peft#577, huggingface/peft#2738.
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, base, lora, plain_case


def build(fixed: bool) -> Case:
    """Build a LoRA whose head is trained too."""
    model = base()
    name = next(path for path, each in model.named_modules() if each is _head(model))
    adapted = lora(model, modules_to_save=[name] if fixed else None)
    if not fixed:
        _head(model).requires_grad_(True)
    return plain_case(adapted, lr=1e-2)


def _head(model: Any) -> Any:
    own = getattr(model, "verdict", None)
    return model.get_output_embeddings() if own is None else own


FAULT = Fault(
    "good in training, bad after loading the saved adapter",
    code="ADP020",
    places=("param *lm_head.weight", "param *embed_out.weight", "param *verdict*"),
    steps=4,
    evident=-1,
    families=("llama", "neox", "own"),
)
