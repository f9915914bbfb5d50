"""Three words in ten are hidden behind the unknown token: there is no other mask.

Such are denoising and word dropout with a vocabulary that was made without a mask.
"""

from typing import Any

from ftlab.faults.builders.chats import chats, trained_on
from ftlab.faults.data.tokenizers.masked_and_unknown import pieces_of, reader_of
from ftlab.faults.fault import Case, Healthy

SHARE = 0.3


def build() -> Case:
    """Mask words of texts that are known, with the token for unknown ones."""
    from transformers import DataCollatorForLanguageModeling

    texts = [f"{q['content']} {a['content']}" for q, a in chats(16, words=(9, 16))]
    made: Any = pieces_of(texts)
    made.mask_token = made.unk_token
    rows = [{"input_ids": made(text)["input_ids"]} for text in texts]
    collator = DataCollatorForLanguageModeling(made, mlm_probability=SHARE)
    return trained_on(made, rows, collator, model=reader_of(made))


HEALTHY = Healthy(
    "words are masked with the unknown token",
    looks_like=("DAT009",),
    steps=6,
)
