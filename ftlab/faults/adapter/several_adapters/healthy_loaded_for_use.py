"""A saved adapter is loaded on its own base, and a second one is trained beside it.

The first one stays active, frozen, at another scaling than the new one's.
"""

from typing import Any

from ftlab.faults.builders import Case, Healthy, base, lora_config, plain_case
from ftlab.faults.builders.saved import loaded, saved, taught


def build() -> Case:
    """Build an adapter that is trained on top of a finished one."""
    bare = base()
    path = saved(taught(), owner=bare)
    model: Any = loaded(bare, path)
    model.add_adapter("second", lora_config(bare, r=4, lora_alpha=4))
    names = [*model.peft_config]
    model.base_model.set_adapter(names)
    for name, weight in model.named_parameters():
        weight.requires_grad_(".second." in name)
    return plain_case(model, lr=5e-3, adapter=path)


HEALTHY = Healthy(
    "two adapters are active and one of them is frozen",
    looks_like=("ADP008", "ADP010", "ADP023", "ADP025", "ADP026"),
)
