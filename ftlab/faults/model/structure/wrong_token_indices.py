"""The wrong rows are trained: the new tokens never learn.

The ids for ``trainable_token_indices`` were counted from the vocabulary before another
token was added; each is too low.

Fix: ``tokenizer.convert_tokens_to_ids(new_tokens)``.
Source: peft `tuners/trainable_tokens/layer.py`: a delta for these ids alone; measured.
"""

from ftlab.faults.builders import VOCABULARY, Case, Fault, batches, lora, plain_case
from ftlab.faults.builders.new_words import (
    NEW,
    learnt_base,
    new_ids,
    rows_trained,
    with_new_tokens,
)


def build(fixed: bool) -> Case:
    """Train the rows of the new tokens, or those before them."""
    model = learnt_base()
    model.resize_token_embeddings(VOCABULARY + NEW, mean_resizing=True)
    ids = new_ids() if fixed else [each - NEW for each in new_ids()]
    model = lora(model, **rows_trained(model, ids))
    made = with_new_tokens(batches())
    return plain_case(model, rows=made)


FAULT = Fault(
    "other rows than those of the new tokens are trained",
    code="MOD009",
    places=("param *embed_*weight", "param *wte*weight"),
    evident=1,
    families=("llama", "gpt2", "neox"),
)
