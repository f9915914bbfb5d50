"""The optimizer steps between merging the adapter and unmerging it.

The merge added B A as it was; unmerging subtracts B A as it is after the step. The
difference stays in the frozen base weights, one more each step.

Fix: unmerge before ``optimizer.step()``.
Source: seed; weight sync of GRPO, huggingface/trl#2873, huggingface/peft#2437.
"""

from ftlab.faults.builders import Case, Fault, adamw, lora, updated_by


def build(fixed: bool) -> Case:
    """Build a loop that hands merged weights to a sampler in each step."""
    model = lora()
    optimizer = adamw(model, lr=5e-3)

    def update() -> None:
        model.merge_adapter()
        if fixed:
            model.unmerge_adapter()
        optimizer.step()
        if not fixed:
            model.unmerge_adapter()

    return updated_by(update, model, optimizer)


FAULT = Fault(
    "with the adapter off the model is not the base model any more",
    code="ADP004",
    places=("param *.base_layer.weight",),
    also=("ADP007",),
    families=("llama", "gpt2", "neox", "own"),
)
