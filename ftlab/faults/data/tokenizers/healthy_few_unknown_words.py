"""A vocabulary of whole words does not know one word in twenty.

Such are Penn Treebank's and WikiText-2's, where rare words are `<unk>`.
"""

from typing import Any

from ftlab.faults.builders import Case, Healthy, seeded
from ftlab.faults.builders.chats import chats, trained_on

RARE = 20
"""One word in so many is unknown."""


def build() -> Case:
    """Write rare words into texts, some rows with none and some with several."""
    import torch

    texts = [
        f"{question['content']} {answer['content']}".split()
        for question, answer in chats(16, words=(12, 24))
    ]
    made = _words_of(texts)
    draws = seeded()
    rows = []
    for text in texts:
        rare = (torch.randint(RARE, (len(text),), generator=draws) == 0).tolist()
        kept = " ".join("zyx" if r else w for w, r in zip(text, rare, strict=True))
        ids = [*made(kept)["input_ids"], made.eos_token_id]
        rows.append({"input_ids": ids, "labels": list(ids)})
    return trained_on(made, rows)


def _words_of(texts: list[list[str]]) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    special = ["<pad>", "<s>", "</s>", "<unk>"]
    words = special + sorted({word for text in texts for word in text})
    table = {word: number for number, word in enumerate(words)}
    inner = Tokenizer(models.WordLevel(table, "<unk>"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    names = ("pad_token", "bos_token", "eos_token", "unk_token")
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        model_input_names=["input_ids", "attention_mask"],
        **dict(zip(names, special, strict=True)),
    )


HEALTHY = Healthy(
    "one word in twenty is unknown",
    looks_like=("DAT009",),
    steps=6,
)
