"""A text has another class in another batch: it is read off the padding.

A classifier on a decoder reads the last token that is not ``config.pad_token_id``. That
is EOS here, and the tokenizer pads with a token of its own.

Fix: ``model.config.pad_token_id = tokenizer.pad_token_id``.

Source: ymcui/Chinese-LLaMA-Alpaca-2#160, huggingface/transformers#27502.
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, plain_case, set_seed, sizes
from ftlab.faults.builders.chats import chats, sized, tokenizer


def build(fixed: bool) -> Case:
    """Classify questions by a Llama that takes EOS for padding."""
    made = tokenizer(eos_token="</s>")
    return classified(made, made.pad_token_id if fixed else made.eos_token_id)


def classified(made: Any, pads: int) -> Case:
    """Make the case of a loop that classifies questions, eight at a time.

    Parameters
    ----------
    pads
        What the model takes for padding.
    """
    import torch

    texts = [question["content"] for question, _ in chats(32)]
    model = sized(made, classifier, pads=pads)
    batches = []
    for begin in range(0, len(texts), 8):
        batch = made(texts[begin : begin + 8], padding=True, return_tensors="pt")
        batches.append({**batch, "labels": torch.arange(8) % 2})
    return plain_case(model, rows=batches)


def classifier(pads: int, **settings: Any) -> Any:
    """Build a Llama with two classes."""
    from transformers import LlamaConfig, LlamaForSequenceClassification

    set_seed(0)
    shape = sizes() | settings | {"pad_token_id": pads, "num_labels": 2}
    return LlamaForSequenceClassification(LlamaConfig(**shape))


FAULT = Fault(
    "the class of a text changes with the other texts of its batch",
    code="DAT048",
    places=("config model.config.pad_token_id",),
    evident=1,
)
