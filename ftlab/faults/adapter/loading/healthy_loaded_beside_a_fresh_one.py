"""A saved adapter is loaded beside a fresh one, is activated, and is trained on.

The fresh one stays as it was made: its values are not those of the folder.
"""

from typing import Any

from ftlab.faults.builders import Case, Healthy, lora, plain_case
from ftlab.faults.builders.saved import saved, taught


def build() -> Case:
    """Build a model whose second adapter is trained on."""
    model: Any = lora()
    path = saved(taught(), model)
    model.load_adapter(path, "sql", is_trainable=True)
    model.set_adapter("sql")
    return plain_case(model, lr=1e-3, adapter=path)


HEALTHY = Healthy(
    "an adapter of the model has other values than the folder",
    looks_like=("ADP026", "ADP028"),
)
