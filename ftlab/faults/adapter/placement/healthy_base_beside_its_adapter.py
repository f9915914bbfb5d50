"""A base is saved into the folder of the adapter that was trained on it.

The base is as it was before training, so that both are a complete pair: from_pretrained
puts the adapter on it, and that is what was trained.
"""

from ftlab.faults.builders import Case, Healthy, folder, lora, plain_case


def build() -> Case:
    """Build LoRA that is saved, taken off, and followed by its base."""
    model = lora()
    path = folder(model)

    def save() -> None:
        model.save_pretrained(path)
        model.unload().save_pretrained(path)

    return plain_case(model, lr=5e-3, afterwards=save)


HEALTHY = Healthy(
    "one folder holds a whole model and an adapter",
    looks_like=("ADP021", "ADP020"),
    steps=40,
)
