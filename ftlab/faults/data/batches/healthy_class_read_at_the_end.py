"""Classifiers on a decoder that find the end of each text, which is padded with EOS."""

from ftlab.faults.builders.chats import tokenizer
from ftlab.faults.data.batches.class_read_off_padding import classified
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Classify questions that are padded with the token that ends them too."""
    made = tokenizer(eos_token="</s>", pad_token="</s>")
    return classified(made, made.eos_token_id)


HEALTHY = Healthy(
    "EOS is padding, and each class is read at the last token before it",
    looks_like=("DAT048",),
    steps=6,
)
