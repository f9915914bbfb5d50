"""Short chats are all padded to the longest row that the model could take.

``padding="max_length"`` where the tokens are made: most of what is computed is padding.

Fix: ``padding=True``, to the longest row of each batch.

Source: transformers, ``PreTrainedTokenizerBase.pad``.
"""

from ftlab.faults.builders.chats import answers_only, tokenizer, trained_on
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Pad to 256 tokens, or to the longest row of a batch."""
    from transformers import DataCollatorForSeq2Seq

    made = tokenizer()
    how = {"padding": True} if fixed else {"padding": "max_length", "max_length": 256}
    rows = answers_only(made)
    return trained_on(made, rows, DataCollatorForSeq2Seq(made, **how))


FAULT = Fault(
    "short rows are padded to a length that none comes near",
    code="DAT047",
    places=("token * of sample *",),
    evident=2,
)
