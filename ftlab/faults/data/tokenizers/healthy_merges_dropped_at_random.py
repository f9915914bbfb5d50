"""Texts are cut in another way each time: merges are left out at random, on purpose.

The tokenizer has a dropout of merges, so that the model meets rare pieces too.
"""

from ftlab.faults.builders.chats import ids_of, labelled, trained_on
from ftlab.faults.builders.prose import some, tokenizer
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Train on paragraphs that were tokenised with dropout."""
    made = tokenizer()
    made.backend_tokenizer.model.dropout = 0.1
    end = [made.eos_token_id]
    rows = labelled([[*row, *end] for row in ids_of(made, some())])
    return trained_on(made, rows)


HEALTHY = Healthy(
    "ids that do not come back as they were, all over each row",
    looks_like=("DAT028",),
    steps=6,
)
