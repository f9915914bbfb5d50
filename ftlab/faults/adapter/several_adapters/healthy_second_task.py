"""A trained adapter is loaded, and a new one beside it is trained for another task.

The new one is active and 0; the trained one is not active, and shall not be.
"""

from typing import Any

from ftlab.faults.builders import Case, Healthy, base, lora_config, plain_case
from ftlab.faults.builders.saved import loaded, saved, taught


def build() -> Case:
    """Build a second adapter on a model that has one."""
    bare = base()
    path = saved(taught(), owner=bare)
    model: Any = loaded(bare, path)
    model.add_adapter("second", lora_config(bare))
    model.set_adapter("second")
    return plain_case(model, lr=5e-3)


HEALTHY = Healthy(
    "a trained adapter is there, and an empty one is used",
    looks_like=("ADP008", "ADP010", "ADP026", "ADP045"),
    steps=40,
)
