"""Paragraphs of plain text, each a row of its own, none of them with an end.

Further pre-training on paragraphs teaches words and no answers: nothing has to stop.
"""

from ftlab.faults.builders.chats import chats, ids_of, tokenizer, trained_on
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Tokenise paragraphs of several lengths as they are."""
    from transformers import DataCollatorForLanguageModeling

    made = tokenizer(eos_token="</s>")
    texts = [answer["content"] for _, answer in chats(words=(5, 20))]
    rows = [{"input_ids": row} for row in ids_of(made, texts)]
    return trained_on(made, rows, DataCollatorForLanguageModeling(made, mlm=False))


HEALTHY = Healthy(
    "paragraphs that begin anyhow and end with no EOS",
    looks_like=("DAT020",),
    steps=6,
)
