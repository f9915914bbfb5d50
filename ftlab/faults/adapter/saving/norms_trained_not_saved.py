"""The normalisation's weights are unfrozen by hand, beside the adapter.

They are few and learn quickly, so the tuned model leans on them; they are in no
checkpoint of the adapter.

Fix: name them in ``modules_to_save``.
Source: huggingface/peft#2738.
"""

from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw, base, batches, lora
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Build a LoRA whose base's normalisation is trained too."""
    model = base()
    names = [
        path
        for path, each in model.named_modules()
        if type(each).__name__.endswith("Norm")
    ]
    ends = sorted({name.rpartition(".")[2] for name in names})
    adapted = lora(model, modules_to_save=ends if fixed else None)
    if not fixed:
        for name in names:
            model.get_submodule(name).requires_grad_(True)
    optimizer = adamw(adapted, lr=1e-2)
    return Case(adapted, optimizer, batches(), plain_step(adapted, optimizer))


FAULT = Fault(
    "norms-trained-not-saved",
    "the loaded adapter is a little worse than it was in training",
    code="ADP020",
    places=("param *norm*.weight", "param *ln_*", "param *calm*"),
    builder=build,
    steps=4,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
