"""A Trainer's own loss is a mean, and the Trainer takes it as divided already.

``compute_loss`` is overridden and leaves ``num_items_in_batch`` aside. Because the
model takes such arguments the Trainer does not divide by the accumulation steps.

Fix: divide the sum by ``num_items_in_batch``, or set
``trainer.model_accepts_loss_kwargs = False``.
Source: huggingface/transformers#37766, MakazhanAlpamys/Soup#720.
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, lora, token_loss, trained


def build(fixed: bool) -> Case:
    """Build LoRA in a Trainer with a loss of its own and four micro-batches."""
    case = trained(
        lora(),
        kind=averaging(),
        max_steps=3,
        per_device_train_batch_size=2,
        gradient_accumulation_steps=4,
    )
    case.trainer.model_accepts_loss_kwargs = not fixed
    return case


def averaging() -> Any:
    """Make a Trainer whose own loss leaves ``num_items_in_batch`` aside."""
    from transformers import Trainer

    class OwnLoss(Trainer):
        """Averages over the tokens of each micro-batch."""

        def compute_loss(
            self,
            model: Any,
            inputs: Any,
            return_outputs: bool = False,
            num_items_in_batch: Any = None,
        ) -> Any:
            outputs = model(input_ids=inputs["input_ids"])
            loss = token_loss(outputs.logits, inputs)
            return (loss, outputs) if return_outputs else loss

    return OwnLoss


FAULT = Fault(
    "the logged loss and the gradient norm grow with the accumulation steps",
    code="GRD017",
    places=("call compute_loss",),
    steps=3,
    families=("llama", "gpt2", "neox"),
)
