"""Left padding, and a sample whose labels are all ignored."""

from ftlab.faults.builders import Case, Healthy, batches, lora, plain_case


def build() -> Case:
    """Build LoRA on padded batches."""
    model = lora(modules_to_save=["lm_head"])
    rows = batches()
    for batch in rows:
        batch["attention_mask"][0, :10] = 0
        batch["input_ids"][0, :10] = 0
        batch["labels"][0, :11] = -100
        batch["labels"][1] = -100
    return plain_case(model, rows=rows)


HEALTHY = Healthy(
    "rows of the attention mask are empty, and one sample has no label",
    looks_like=("NUM001", "GRD003"),
)
