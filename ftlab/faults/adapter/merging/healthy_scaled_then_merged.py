"""The adapter's scaling is changed by ``scale_layer`` and by hand before each merge.

PEFT merges with the factor of that moment, by itself and in code of one's own.
"""

from ftlab.faults.builders import Case, Healthy, batches, folder, lora, plain_case
from ftlab.faults.builders.hand_merges import adapted, exported, right


def build() -> Case:
    """Build a LoRA run that is tried at half of its strength, and exported at that."""
    model = lora()
    path = folder(model)

    def scale(factor: float) -> None:
        for layer in adapted(model):
            layer.scale_layer(factor)

    def export() -> None:
        scale(0.5)
        model.merge_adapter(safe_merge=True)
        scale(2.0)
        model(**batches()[0])
        scale(0.5)
        model.unmerge_adapter()
        exported(model, right, path)

    return plain_case(model, lr=5e-3, afterwards=export)


HEALTHY = Healthy(
    "what is merged is half of what the configuration says",
    looks_like=("ADP009",),
    steps=20,
)
