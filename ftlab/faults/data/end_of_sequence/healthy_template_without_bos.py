"""The tokenizer adds BOS to texts, and the chat template writes none, here and served.

Such are ChatML templates on the tokenizers of models that begin with BOS.
"""

from ftlab.faults.builders.chats import TEMPLATE, tokenizer, trained_on, whole
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Train conversations as the template writes them."""
    template = TEMPLATE.replace("{{ bos_token }}", "")
    made = tokenizer(adds_bos=True, template=template)
    rows = whole(made)
    return trained_on(made, rows)


HEALTHY = Healthy(
    "no sample begins with the BOS that the tokenizer would add",
    looks_like=("DAT022",),
    steps=6,
)
