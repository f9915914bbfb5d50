"""A Trainer loads another adapter's file into the one that it has trained.

An adapter beside "default" is trained. PEFT saves it one folder below each checkpoint,
and "default" into the checkpoint itself, where the Trainer looks for the best one.

Fix: delete the adapter "default", or train that one.
Source: huggingface/transformers#36201; measured.
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, base, best_kept, lora_config, set_seed


def build(fixed: bool) -> Case:
    """Build a Trainer that evaluates and keeps its checkpoints."""
    from peft import get_peft_model

    bare = base()
    set_seed(1)
    model: Any = get_peft_model(bare, lora_config(bare))
    model.add_adapter("mine", lora_config(bare))
    model.set_adapter("default" if fixed else "mine")
    return best_kept(model, every=4, max_steps=8)


FAULT = Fault(
    "after training the adapter adds nothing, although the loss went down",
    code="ADP035",
    places=("config load_best_model_at_end",),
    steps=8,
    evident=4,
    families=("llama", "gpt2", "neox"),
)
