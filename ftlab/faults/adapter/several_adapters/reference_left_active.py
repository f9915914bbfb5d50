"""The frozen reference adapter is the active one in every training forward.

Both adapters were set up by hand, ``requires_grad`` and all, and the reference was made
active for a first look at its loss. What is trained takes no part in the loss; the head
learns, so that backward runs.

Fix: ``model.set_adapter(...)`` with the adapter that is trained before the forward.
Source: huggingface/peft#2759; huggingface/trl#4723.
"""

from ftlab.faults.builders import Case, Fault, current, lora, plain_case


def build(fixed: bool) -> Case:
    """Build an adapter and a reference, and look at the reference first."""
    model, own = lora(), current().adapter
    model.add_adapter("reference", model.peft_config[own])
    model.set_adapter(own if fixed else "reference")
    for name, weight in model.named_parameters():
        weight.requires_grad_(f".{own}." in name)
    model.get_output_embeddings().requires_grad_(True)
    return plain_case(model)


FAULT = Fault(
    "only the head learns; the adapter keeps its first values",
    code="ADP008",
    places=("param *lora_?.*",),
    steps=12,
    evident=1,
    also=("GRD003", "ADP020"),
    families=("llama", "gpt2", "neox"),
)
