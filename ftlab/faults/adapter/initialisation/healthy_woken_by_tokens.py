"""Activated LoRA: at work from its invocation on, which some rows have lost.

One row in five was cut in front of it, and trains nothing; the others do.
"""

from ftlab.faults.builders import Case, Healthy, batches, llama, lora, plain_case

INVOCATION = [11, 12]


def build() -> Case:
    """Build an activated LoRA whose tokens stand in the middle of most rows."""
    model = lora(llama(), alora_invocation_tokens=INVOCATION)
    made = batches(size=5)
    for batch in made:
        for column, token in enumerate(INVOCATION, start=4):
            batch["input_ids"][1:, column] = token
        batch["labels"][:, :6] = -100
    return plain_case(model, rows=made)


HEALTHY = Healthy(
    "an adapter that is off in the first part of each row, and in one row of five",
    looks_like=("ADP001", "ADP041", "GRD003"),
    steps=40,
    needs=("peft>=0.18",),
)
