"""English prose that comes with Python, and byte-level tokenizers trained on it."""

import functools
import random
import re
from typing import Any

from ftlab.faults.variation import current

SPECIAL = ("<pad>", "<s>", "</s>")


@functools.cache
def paragraphs() -> tuple[str, ...]:
    """Return paragraphs of Python's own help texts."""
    from pydoc_data.topics import topics

    found = (re.sub(r"\s+", " ", p) for t in topics.values() for p in t.split("\n\n"))
    return tuple(sorted({each for each in found if 200 < len(each) < 600}))


def some(count: int = 32) -> list[str]:
    """Return some paragraphs of this variation's seed."""
    return random.Random(current().seed).sample(paragraphs(), count)


@functools.cache
def _trained(size: int, reserved: int) -> str:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from tokenizers.trainers import BpeTrainer

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    names = [*SPECIAL, *(f"[reserved {n}]" for n in range(reserved))]
    trainer = BpeTrainer(
        vocab_size=size + reserved,
        initial_alphabet=alphabet,
        special_tokens=names,
        show_progress=False,
    )
    tokenizer.train_from_iterator(paragraphs(), trainer)
    return str(tokenizer.to_str())


def tokenizer(size: int = 3000, reserved: int = 0) -> Any:
    """Build a tokenizer.

    Parameters
    ----------
    size
        Of its vocabulary.
    reserved
        Special tokens in front of it, which move all others.
    """
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer.from_str(_trained(size, reserved))
    names = dict(zip(("pad_token", "bos_token", "eos_token"), SPECIAL, strict=True))
    inputs = {"model_input_names": ["input_ids", "attention_mask"]}
    return PreTrainedTokenizerFast(tokenizer_object=inner, **names, **inputs)
