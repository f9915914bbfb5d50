"""After LoRA with new special tokens the model neither reads nor writes them.

``resize_token_embeddings`` adds rows, all of them at the mean of the old ones. LoRA on
the attention freezes the embedding and the head, so there they stay.

Fix: ``trainable_token_indices={"embed_tokens": ids, "lm_head": ids}``, or
``modules_to_save=["embed_tokens", "lm_head"]``.
Source: huggingface/peft#334, #1298; unslothai/unsloth#2188.
"""

from ftlab.faults.builders import VOCABULARY, Case, Fault, batches, current, lora
from ftlab.faults.builders.loops import plain_case
from ftlab.faults.builders.new_words import (
    NEW,
    learnt_base,
    new_ids,
    rows_trained,
    with_new_tokens,
)


def build(fixed: bool) -> Case:
    """Add tokens and train an adapter, with their rows or without."""
    model = learnt_base()
    mean = current().seed % 2 == 0
    model.resize_token_embeddings(VOCABULARY + NEW, mean_resizing=mean)
    rows = rows_trained(model, new_ids()) if fixed else {}
    model = lora(model, **rows)
    made = with_new_tokens(batches())
    return plain_case(model, rows=made)


FAULT = Fault(
    "new tokens stay at the mean of all others",
    code="MOD009",
    places=(
        "param *embed_tokens.weight",
        "param *wte.weight",
        "param *embed_in.weight",
    ),
    evident=1,
    families=("llama", "gpt2", "neox"),
)
