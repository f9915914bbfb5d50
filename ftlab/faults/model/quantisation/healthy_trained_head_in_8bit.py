"""LoRA on a classifier in 8 bits whose head was trained before: it stays as it is."""

import torch

from ftlab.faults.builders import Case, Healthy, batches, lora, plain_case, plain_step
from ftlab.faults.builders.heads import classifier
from ftlab.faults.builders.trainers import folder
from ftlab.faults.builders.zoo import classes


def build() -> Case:
    """Train a head, load the classifier in 8 bits, and put LoRA on its body."""
    from transformers import BitsAndBytesConfig

    model = classifier()
    rows = classes(batches())
    first = torch.optim.AdamW(model.score.parameters(), lr=3e-2)
    Case(model, first, rows, plain_step(model, first)).run(60)
    path = folder(model)
    model.save_pretrained(path)
    config = BitsAndBytesConfig(load_in_8bit=True, llm_int8_skip_modules=["gate"])
    loaded = type(model).from_pretrained(
        path, quantization_config=config, dtype=torch.bfloat16
    )
    model = lora(loaded, task_type=None)
    return plain_case(model, rows=rows)


HEALTHY = Healthy(
    "the head is quantised, and was trained before",
    looks_like=("MOD007", "ADP015", "MOD002"),
    steps=40,
    needs=("bitsandbytes>=0.46",),
)
