"""At inference the answer begins behind a text that training never had.

The template opens ``<think>`` in its generation prompt, and writes nothing of the kind
in front of the answers of a conversation.

Fix: the same text in front of the answers that are trained.

Source: huggingface/trl#5213.
"""

from ftlab.faults.builders.chats import TEMPLATE, answers_only, tokenizer, trained_on
from ftlab.faults.fault import Case, Fault

_PROMPT = "<turn>assistant\n{% endif %}"


def build(fixed: bool) -> Case:
    """Open the reasoning in the prompt alone."""
    opened = TEMPLATE.replace(_PROMPT, "<turn>assistant\n<think>\n{% endif %}")
    made = tokenizer(template=TEMPLATE if fixed else opened)
    rows = answers_only(made)
    return trained_on(made, rows, max_steps=2)


FAULT = Fault(
    "the prompt ends with a text that no row holds",
    code="DAT038",
    places=("token * of sample *", "config tokenizer.chat_template"),
    steps=2,
    evident=1,
)
