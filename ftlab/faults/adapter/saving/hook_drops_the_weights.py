"""A hook of ``save_state`` takes the weights out, and saves nothing in their place.

The hook asks for a class that the model is not, once it is wrapped or renamed, and
empties the list all the same. The optimizer's state is written, the weights are not.

Fix: save the adapter in the hook, and take out only what was saved.
Source: seed; accelerate, ``register_save_state_pre_hook``.
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, adamw, batches, folder, lora, token_loss
from ftlab.faults.builders.loops import loss_step


def build(fixed: bool) -> Case:
    """Build a loop with accelerate whose checkpoints go through a hook."""
    from accelerate import Accelerator
    from peft import PeftModel

    accelerator = Accelerator(cpu=True)
    model: Any = lora()
    path = folder(model)
    optimizer = adamw(model, lr=5e-3)
    ready: Any = accelerator.prepare_model(model)
    stepping: Any = accelerator.prepare_optimizer(optimizer)
    known = PeftModel if fixed else Accelerator

    def hook(models: list[Any], weights: list[Any], where: str) -> None:
        for each in models:
            if isinstance(each, known):
                each.save_pretrained(where)
            weights.clear()

    accelerator.register_save_state_pre_hook(hook)

    def save() -> None:
        accelerator.save_state(str(path / "checkpoint"))

    step = loss_step(lambda batch: token_loss(ready(**batch).logits, batch), stepping)
    return Case(model, optimizer, batches(), step, afterwards=save)


FAULT = Fault(
    "a resumed run begins with a fresh adapter and old moments",
    code="ADP055",
    places=("file *",),
    evident=5,
    families=("llama", "gpt2", "neox"),
)
