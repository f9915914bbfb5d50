"""Two adapters run together, each as a whole at a strength of its own.

This is how image pipelines weigh adapters; the scaling is set on every layer.
"""

from ftlab.faults.adapter.several_adapters.combined_with_rslora import two_trained
from ftlab.faults.builders import Case, Healthy, current, plain_case


def build() -> Case:
    """Build two active adapters, one at 0.7 and one at 0.4 of its strength."""
    from peft.tuners.lora import LoraLayer

    model = two_trained()
    names = [current().adapter, "other"]
    model.base_model.set_adapter(names)
    for module in model.modules():
        if isinstance(module, LoraLayer):
            for name, strength in zip(names, (0.7, 0.4), strict=True):
                module.set_scale(name, strength)
    return plain_case(model, lr=1e-3)


HEALTHY = Healthy(
    "the scaling of two adapters was set by hand, to different numbers",
    looks_like=("ADP017", "ADP008"),
    steps=60,
)
