"""A callback writes to the base weights under the adapter.

Only the adapter is saved: on the base as it was it does not work as in training.

Fix: leave the base alone, or save it too.
Source: seed; huggingface/transformers#34468 (base weights changed without a word).
"""

from ftlab.faults.builders import Case, Fault, adamw, batches, loop_with, lora

AT = 5


def build(fixed: bool) -> Case:
    """Build LoRA and something that scales one base weight."""
    model = lora()
    optimizer = adamw(model)
    frozen = [p for n, p in model.named_parameters() if "base_layer.weight" in n]

    def before(done: int) -> None:
        if done == AT and not fixed:
            frozen[-1].data.mul_(1.02)

    return loop_with(model, optimizer, batches(), before=before)


FAULT = Fault(
    "the saved adapter does not work as in training",
    code="ADP007",
    places=("param *.base_layer.weight",),
    steps=10,
    evident=5,
    families=("llama", "gpt2", "neox", "own"),
)
