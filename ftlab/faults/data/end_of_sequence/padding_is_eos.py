"""The fine-tuned model never stops: every EOS was left out of the labels.

The tokenizer has no padding token, so it is given EOS. The collator leaves padding out
of the labels by its id, and with it the EOS at the end of every answer. The loss looks
well, and generation goes on until its limit.

Fix: a padding token of its own, or labels that the attention mask leaves out.

Source: huggingface/transformers#23530, huggingface/trl#976.
"""

from ftlab.faults.builders.chats import chats, ids_of, tokenizer, trained_on
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Pad with EOS."""
    from transformers import DataCollatorForLanguageModeling

    made = tokenizer(pad_token="<pad>" if fixed else "</turn>")
    rows = [{"input_ids": row} for row in ids_of(made, chats())]
    return trained_on(made, rows, DataCollatorForLanguageModeling(made, mlm=False))


FAULT = Fault(
    "EOS is the padding, and never trained",
    code="DAT020",
    places=("token * of sample *",),
)
