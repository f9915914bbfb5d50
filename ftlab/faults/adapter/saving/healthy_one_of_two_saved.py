"""Two adapters are trained together, and each is saved by itself, to its own place.

``selected_adapters`` leaves the other one out on purpose.
"""

from typing import Any

from ftlab.faults.builders import Case, Healthy, current, folder, lora, plain_case


def build() -> Case:
    """Build two adapters that are active at once."""
    model: Any = lora()
    path, own = folder(model), current().adapter
    model.add_adapter("style", model.peft_config[own])
    model.base_model.set_adapter([own, "style"])

    def save() -> None:
        model.save_pretrained(path / "one", selected_adapters=[own])
        model.save_pretrained(path / "two", True, ["style"])

    return plain_case(model, lr=2e-3, afterwards=save)


HEALTHY = Healthy(
    "trained tensors are in no file that is saved at first",
    looks_like=("ADP020", "ADP028", "ADP008"),
    steps=40,
)
