"""An adapter that transformers itself has put on a model: ``model.add_adapter``.

There is no PeftModel. The file that it saves has a PeftModel's keys all the same, and
is loaded again in the middle of the run.
"""

from typing import Any

from ftlab.faults.builders import Case, Healthy, folder, loop_with
from ftlab.faults.builders.tiny import adamw, base, batches, lora_config, set_seed

SAVED, BACK = 10, 20


def build() -> Case:
    """Build a transformers model with an adapter of its own."""
    model: Any = base()
    set_seed(1)
    model.add_adapter(lora_config(model, task_type=None))
    path = folder(model)
    optimizer = adamw(model, lr=5e-3)

    def before(done: int) -> None:
        if done == SAVED:
            model.save_pretrained(path)
        if done == BACK:
            model.load_adapter(path, "second")
            model.set_adapter("default")
            model.train()

    return loop_with(model, optimizer, batches(), before=before)


HEALTHY = Healthy(
    "the adapter's keys in the file are not those of the model",
    looks_like=("ADP026", "ADP028", "ADP020"),
    steps=40,
)
