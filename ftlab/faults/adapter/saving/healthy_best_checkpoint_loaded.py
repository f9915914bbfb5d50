"""A Trainer that loads its best checkpoint at the end, with a reference beside.

The adapter that is trained is called "default" and lies in the checkpoint's own folder;
the frozen reference lies one folder below.
"""

from typing import Any

from ftlab.faults.builders import Case, Healthy, base, best_kept, lora_config, set_seed


def build() -> Case:
    """Build a Trainer that evaluates and keeps its checkpoints."""
    from peft import get_peft_model

    bare = base()
    set_seed(1)
    model: Any = get_peft_model(bare, lora_config(bare))
    model.add_adapter("reference", model.peft_config["default"])
    return best_kept(model, every=10, max_steps=40)


HEALTHY = Healthy(
    "an adapter of each checkpoint lies in a folder of its own",
    looks_like=("ADP035", "ADP026", "ADP020", "ADP028"),
    steps=40,
)
