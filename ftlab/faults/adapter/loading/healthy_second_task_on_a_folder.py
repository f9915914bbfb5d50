"""A trained adapter is loaded for use, and a new one beside it learns another task.

Its folder is known, and has the values of the one that is not active.
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
    return plain_case(model, lr=5e-3, adapter=path)


HEALTHY = Healthy(
    "the folder's adapter is not active, and an empty one is trained",
    looks_like=("ADP026",),
    steps=8,
)
