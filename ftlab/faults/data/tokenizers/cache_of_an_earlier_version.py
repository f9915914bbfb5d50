"""The loss begins and ends higher than it did: ids come from a cache that is too old.

The new version of the tokenizer has special tokens in front of its vocabulary, as the
third Mistral has 768 of them. The dataset was tokenised before, and each of its ids is
another token now.

Fix: tokenise again; name the cache after the tokenizer's fingerprint.

Source: mistralai/mistral-common, tokenizer.model.v1 and v3.
"""

from ftlab.faults.builders.chats import ids_of, labelled, trained_on
from ftlab.faults.builders.prose import some, tokenizer
from ftlab.faults.fault import Case, Fault

NEW = 96
"""Special tokens that the later version has more."""


def build(fixed: bool) -> Case:
    """Train on ids of the earlier version."""
    made = tokenizer(reserved=NEW)
    earlier = made if fixed else tokenizer()
    end = [made.eos_token_id]  # the same in both
    rows = labelled([[*row, *end] for row in ids_of(earlier, some())])
    return trained_on(made, rows)


FAULT = Fault(
    "the model learns, and writes nonsense",
    code="DAT028",
    places=("data input_ids",),
)
