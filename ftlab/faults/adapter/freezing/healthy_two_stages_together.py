"""A finished adapter and a new one are trained together, on purpose.

The first one was loaded without ``is_trainable``; ``set_adapter`` with both names makes
both active and trainable, as PEFT says. The base is looked at now and then.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, adamw, base, batches, lora_config
from ftlab.faults.builders.around import loop_with
from ftlab.faults.builders.saved import loaded, saved, taught

EVERY = 10
"""Steps between two looks at the base."""


def build() -> Case:
    """Build both adapters on one base and train them."""
    bare = base()
    model: Any = loaded(bare, saved(taught(), owner=bare))
    model.add_adapter("later", lora_config(bare))
    model.base_model.set_adapter([*model.peft_config])
    optimizer, made = adamw(model, lr=1e-3), batches()

    def before(done: int) -> None:
        if done % EVERY == 0:
            with model.disable_adapter(), torch.no_grad():
                model(**made[0])

    return loop_with(model, optimizer, made, before=before)


HEALTHY = Healthy(
    "an adapter that was loaded for use is trained along with a new one",
    looks_like=("ADP045", "ADP027"),
    steps=40,
)
