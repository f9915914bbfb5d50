"""A Trainer shall load the best adapter at the end and does not find it.

PEFT saves an adapter that is not called "default" in a folder of its name within the
checkpoint. The Trainer looks in the checkpoint, logs a line and keeps the last weights.

Fix: leave ``adapter_name`` out, or load the best one by hand.
Source: huggingface/transformers#36201, huggingface/transformers#24103.
"""

from ftlab.faults.builders import Case, Fault, base, best_kept, lora_config, set_seed


def build(fixed: bool) -> Case:
    """Build a Trainer that evaluates and keeps its checkpoints."""
    from peft import get_peft_model

    model = base()
    set_seed(1)
    name = "default" if fixed else "mine"
    model = get_peft_model(model, lora_config(model), adapter_name=name)
    return best_kept(model, every=4, max_steps=8)


FAULT = Fault(
    "after training the last weights are used, not the best",
    code="ADP035",
    places=("config load_best_model_at_end", "file adapter keys"),
    steps=8,
    evident=4,
)
