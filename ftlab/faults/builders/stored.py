"""Ids kept in a file, of a vocabulary that is larger than the file's type."""

import functools
from typing import Any

from ftlab.faults.builders.chats import sized, trained_on
from ftlab.faults.fault import Case
from ftlab.faults.variation import current

ROWS, LENGTH = 48, 60
"""Texts, and the words of each."""


@functools.cache
def _trained(size: int, filled: int) -> str:
    from pydoc_data.topics import topics

    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from tokenizers.trainers import BpeTrainer

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    texts = [topics[name] for name in sorted(topics)[:20]]
    trainer = BpeTrainer(
        vocab_size=size, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_tokens([f"<unused{each}>" for each in range(filled)])
    tokenizer.add_special_tokens(
        [AddedToken(each, special=True) for each in ("<s>", "</s>", "<pad>")]
    )
    return str(tokenizer.to_str())


def tokenizer(size: int, filled: int = 0) -> Any:
    """Build a byte-level BPE tokenizer of English; ``filled`` entries are unused.

    BOS, EOS and padding have the last ids.
    """
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(_trained(size, filled)),
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
    )


def texts() -> list[str]:
    """Cut texts of some words out of Python's documentation."""
    from pydoc_data.topics import topics

    seed = current().seed
    words = " ".join(topics[name] for name in sorted(topics)[seed : seed + 20]).split()
    starts = range(0, ROWS * LENGTH, LENGTH)
    return [" ".join(words[start : start + LENGTH]) for start in starts]


def stored_as(made: Any, kind: Any) -> Case:
    """Train on ids that a NumPy or torch type has held on their way."""
    import numpy as np
    import torch

    rows = []
    for text in texts():
        ids = [made.bos_token_id, *made(text)["input_ids"], made.eos_token_id]
        if isinstance(kind, torch.dtype):
            held = torch.tensor(ids).to(kind).long().tolist()
        else:
            held = np.array(ids).astype(kind).astype(np.int64).tolist()
        rows.append({"input_ids": held, "labels": list(held)})
    model = sized(made, hidden_size=16, max_position_embeddings=512)
    return trained_on(made, rows, model=model)
