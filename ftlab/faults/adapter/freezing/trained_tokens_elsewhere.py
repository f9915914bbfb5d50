"""The rows that are trained are those of tokens that the data does not hold.

The ids were counted from the size of the embedding, which was padded; the tokens of the
data have lower ones. The rows get a gradient of exactly 0 for ever.

Fix: ``tokenizer.convert_tokens_to_ids(new_tokens)``.
Source: seed; peft `tuners/trainable_tokens/layer.py`: a delta for these ids alone.
"""

from ftlab.faults.builders import VOCABULARY, Case, Fault, base, batches, lora
from ftlab.faults.builders.loops import plain_case
from ftlab.faults.builders.new_words import NEW, new_ids, tables


def build(fixed: bool) -> Case:
    """Train rows of tokens that are in the batches, or of some behind them."""
    model = base()
    model.resize_token_embeddings(VOCABULARY + NEW, mean_resizing=True)
    made = batches()
    there = made[0]["input_ids"].flatten().unique()[:NEW].tolist()
    rows = dict.fromkeys(tables(model)[:1], there if fixed else new_ids())
    model = lora(model, trainable_token_indices=rows)
    return plain_case(model, rows=made)


FAULT = Fault(
    "the new tokens mean nothing after training",
    code="ADP041",
    places=("config trainable_token_indices",),
    steps=20,
    evident=15,
    also=("GRD003",),
    families=("llama", "gpt2", "neox"),
)
