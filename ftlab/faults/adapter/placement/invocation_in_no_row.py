"""The invocation tokens of an activated LoRA are in no row: it is never at work.

They were tokenized by themselves. In the rows, after other text, the same words are
other tokens. The base model runs alone, and the adapter's gradient is exactly 0.

Fix: take the ids out of a tokenized row.
Source: peft `tuners/lora/variants.py`: a row without the tokens gets the base alone.
"""

from ftlab.faults.builders import Case, Fault, base, batches, lora, plain_case

INVOCATION = [11, 12]


def build(fixed: bool) -> Case:
    """Build an activated LoRA, whose tokens are in the rows or not."""
    model = lora(base(), alora_invocation_tokens=INVOCATION)
    made = batches()
    for batch in made:
        written = INVOCATION if fixed else INVOCATION[::-1]
        for column, token in enumerate(written, start=3):
            batch["input_ids"][:, column] = token
    return plain_case(model, rows=made)


FAULT = Fault(
    "the loss of an activated LoRA does not move",
    code="ADP041",
    places=("config alora_invocation_tokens",),
    steps=16,
    evident=1,
    also=("ADP001", "GRD003", "NUM003"),
    families=("llama", "neox"),
    needs=("peft>=0.18",),
)
