"""A RandLoRA is loaded from its folder and trained on, its projections with it.

They are buffers, drawn at random; the file holds them so that nobody has to draw them
again.
"""

from typing import Any

from ftlab.faults.builders import Case, Healthy, base, plain_case
from ftlab.faults.builders.methods import tuned
from ftlab.faults.builders.saved import loaded, saved, taught

TARGETS = ["q_proj", "o_proj"]


def build() -> Case:
    """Train and save an adapter, and go on with it."""
    first = taught(tuned("RandLoraConfig", r=16, target_modules=TARGETS))
    bare = base()
    path = saved(first, owner=bare)
    model: Any = loaded(bare, path, is_trainable=True)
    return plain_case(model, lr=5e-3, adapter=path)


HEALTHY = Healthy(
    "the file has keys of which the model has no parameter",
    looks_like=("ADP026", "ADP028", "ADP039"),
    steps=40,
)
