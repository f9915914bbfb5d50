"""LoRA with a padding token that was added, in a vocabulary padded to 64 rows more.

The new rows are at the mean of the old ones and frozen. One of them stands wherever a
row of the batch is padded, where nothing attends to it; the others are never used.
"""

from ftlab.faults.builders import VOCABULARY, Case, Healthy, batches, lora, plain_case
from ftlab.faults.builders.new_words import learnt_base


def build() -> Case:
    """Build LoRA on batches that are padded with the new token."""
    model = learnt_base()
    model.resize_token_embeddings(VOCABULARY + 1, pad_to_multiple_of=64)
    model = lora(model)
    made = batches()
    for batch in made:
        batch["input_ids"][:2, 10:] = VOCABULARY
        batch["attention_mask"][:2, 10:] = 0
        batch["labels"][:2, 10:] = -100
    return plain_case(model, rows=made)


HEALTHY = Healthy(
    "new rows are frozen, and the batches hold one of them",
    looks_like=("MOD009", "ADP020"),
    steps=40,
)
