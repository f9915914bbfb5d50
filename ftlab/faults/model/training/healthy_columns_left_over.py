"""A Trainer removes columns of text from its dataset, as it should.

The loss of its own takes one of them out in case it is there, for the model does not
know it, and so does its collator; others have the names of what it puts out.
"""

from typing import Any

import torch

from ftlab.faults.builders import Case, Healthy, batches, lora, rows_of, trained


def build() -> Case:
    """Build a Trainer on rows with a source, a number and a score."""
    from datasets import Dataset
    from transformers import Trainer

    class Careful(Trainer):
        """Leaves out what the model does not take."""

        def compute_loss(
            self, model: Any, inputs: Any, *_: Any, **__: Any
        ) -> torch.Tensor:
            """Return the model's own loss."""
            inputs.pop("source", None)
            if "number" in inputs:
                del inputs["number"]
            found = {"score": model(**inputs).loss}
            return found["score"]

    rows = [
        {name: values.tolist() for name, values in row.items()}
        | {"source": "a book", "number": number, "score": 1.0}
        for number, row in enumerate(rows_of(batches(16)))
    ]
    trainer = {"data_collator": _stacked}
    data = Dataset.from_list(rows)
    return trained(lora(), kind=Careful, rows=data, trainer=trainer, max_steps=40)


def _stacked(rows: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
    """Stack what can be stacked."""
    from transformers import default_data_collator

    for row in rows:
        row.pop("source", None)
    return dict(default_data_collator(rows))


HEALTHY = Healthy(
    "three columns of the dataset never arrive, and the loss names all of them",
    looks_like=("MOD013",),
    steps=40,
    needs=("datasets",),
)
