"""The Trainer removes the column of weights that a loss of one's own asks for.

``remove_unused_columns`` keeps what the model's forward names. The loss takes the
weights out of the batch with ``.get``, finds none, and weighs nothing.

Fix: ``TrainingArguments(remove_unused_columns=False)``.
Source: huggingface/transformers#25054, huggingface/datasets#3353.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Fault, adamw, base, batches, rows_of, trained

WEIGHTS = "importance"


def build(fixed: bool) -> Case:
    """Build a Trainer whose rows have a weight each."""
    from datasets import Dataset
    from transformers import Trainer

    class Weighing(Trainer):
        """Weighs each row's loss."""

        def compute_loss(
            self, model: Any, inputs: Any, *_: Any, **__: Any
        ) -> torch.Tensor:
            """Return the weighted mean."""
            weights = inputs.pop(WEIGHTS, None)
            return weighed(model(input_ids=inputs["input_ids"]).logits, inputs, weights)

    rows = [
        {name: values.tolist() for name, values in row.items()} | {WEIGHTS: number % 2}
        for number, row in enumerate(rows_of(batches(16)))
    ]
    model = base()
    return trained(
        model,
        kind=Weighing,
        rows=Dataset.from_list(rows),
        remove_unused_columns=not fixed,
        max_steps=6,
        trainer={"optimizers": (adamw(model), None)},
    )


def weighed(logits: torch.Tensor, batch: Any, weights: Any) -> torch.Tensor:
    """Return the loss of the next token, with a weight for each row."""
    losses = torch.nn.functional.cross_entropy(
        logits[:, :-1].transpose(1, 2), batch["labels"][:, 1:], reduction="none"
    ).mean(1)
    if weights is None:
        return losses.mean()
    return (losses * weights).sum() / weights.sum().clamp(min=1)


FAULT = Fault(
    "weights of samples change nothing, whatever they are",
    code="MOD013",
    places=("config remove_unused_columns",),
    evident=-1,
    families=("llama", "gpt2", "neox"),
    needs=("datasets",),
)
