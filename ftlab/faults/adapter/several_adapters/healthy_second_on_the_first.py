"""A second adapter is trained on top of a first one, which is active and frozen.

What it learns stands beside what the first one has learned, and not against it.
"""

from ftlab.faults.adapter.several_adapters.combined_with_rslora import two_trained
from ftlab.faults.builders import Case, Healthy, current, lora_config, plain_case


def build() -> Case:
    """Build two active adapters, of which the new one is trained."""
    model = two_trained()
    model.add_adapter("new", lora_config(model.get_base_model()))
    model.base_model.set_adapter([current().adapter, "new"])
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(".new." in name)
    return plain_case(model)


HEALTHY = Healthy(
    "two adapters are active at once, and one of them is not trained",
    looks_like=("ADP062",),
)
