"""A soft prompt is loaded from its folder in the middle of a run.

PEFT stores a prompt under a name that the model does not have, and puts it into the
prompt's encoder by itself: torch reports every key as unexpected.
"""

from typing import Any

from ftlab.faults.builders import Case, Healthy, adamw, base, batches, folder, set_seed
from ftlab.faults.builders.around import loop_with

SAVED, BACK = 20, 40


def build() -> Case:
    """Build prompt tuning with a rollback in it."""
    from peft import PromptTuningConfig, get_peft_model

    model: Any = base()
    set_seed(1)
    config = PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4)
    model = get_peft_model(model, config)
    path = folder(model)
    optimizer = adamw(model, lr=1e-2)

    def before(done: int) -> None:
        if done == SAVED:
            model.save_pretrained(path)
        if done == BACK:
            model.load_adapter(path, "default", is_trainable=True)

    return loop_with(model, optimizer, batches(), before=before)


HEALTHY = Healthy(
    "no key of what is loaded is found in the model",
    looks_like=("ADP026", "ADP028", "ADP033"),
    steps=80,
)
