"""The end of a turn is seven pieces of text, and no generation stops there.

The chat template was taken from another model: this tokenizer does not have its control
strings, and spells them.

Fix: a template of this model, or add the strings as tokens and train their rows.

Source: huggingface/trl#1242.
"""

from ftlab.faults.builders.chats import TEMPLATE, tokenizer, trained_on, whole
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Take marks that the vocabulary does not have."""
    foreign = TEMPLATE.replace("<turn>", "<|im_start|>").replace(
        "</turn>", "<|im_end|>"
    )
    made = tokenizer(template=TEMPLATE if fixed else foreign)
    rows = whole(made)
    return trained_on(made, rows, max_steps=2)


FAULT = Fault(
    "the template's control strings are spelt",
    code="DAT018",
    places=("token * of sample *",),
    steps=2,
    evident=1,
    also=("DAT020",),
)
