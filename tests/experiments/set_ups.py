"""Tiny set-ups to plant faults in: models of 2 layers x 64, and batches for them."""

from collections.abc import Callable
from typing import Any

import torch

import ftlab
from ftlab.faults.builders.tiny import gpt2, llama, lora, trainable
from ftlab.records.outcome import Outcome

__all__ = ["gpt2", "llama", "lora", "trainable"]
LENGTHS = (12, 9, 5, 10)


def padded(*, left: bool = True, lengths: tuple[int, ...] = LENGTHS) -> dict[str, Any]:
    """Return rows of several lengths, the first two tokens of each a prompt."""
    dice = torch.Generator().manual_seed(0)
    longest = max(lengths)
    ids = torch.randint(3, 100, (len(lengths), longest), generator=dice)
    mask, labels = torch.ones_like(ids), ids.clone()
    for row, length in enumerate(lengths):
        start = longest - length if left else 0
        mask[row] = 0
        mask[row, start : start + length] = 1
        labels[row, start : start + 2] = -100
    labels[mask == 0] = -100
    return {"input_ids": ids * mask, "attention_mask": mask, "labels": labels}


def packed(lengths: tuple[int, ...] = (6, 5, 5)) -> dict[str, Any]:
    """Return documents packed into one row, as a flattening collator makes it."""
    dice = torch.Generator().manual_seed(1)
    ids = torch.randint(3, 100, (1, sum(lengths)), generator=dice)
    positions = torch.cat([torch.arange(length) for length in lengths])[None]
    labels = ids.masked_fill(positions == 0, -100)
    return {"input_ids": ids, "position_ids": positions, "labels": labels}


def tried(name: str, model: Any, batch: Any, **more: Any) -> Outcome:
    """Try one experiment."""
    (outcome,) = ftlab.prove(model, batch=batch, only=name, **more)
    return outcome


def named(outcome: Outcome) -> list[str]:
    """Return the places of a broken relation."""
    assert outcome.state == "broken", outcome.says
    return [place.name for place in outcome.places]


class Around(torch.nn.Module):
    """A layer with something wrong in it: ``change(inner, *args, **kwargs)``."""

    def __init__(self, inner: torch.nn.Module, change: Callable[..., Any]) -> None:
        super().__init__()
        self.inner = inner
        self.change = change

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.change(self.inner, *args, **kwargs)


def around(model: Any, path: str, change: Callable[..., Any]) -> Any:
    """Put a wrong layer in the place of one of a model's."""
    model.set_submodule(path, Around(model.get_submodule(path), change))
    return model


def after(function: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., Any]:
    """Return a change of what a layer returns."""

    def changed(inner: Any, *args: Any, **kwargs: Any) -> Any:
        return function(inner(*args, **kwargs))

    return changed


def masked_lm() -> tuple[Any, dict[str, Any]]:
    """Return a tiny BERT and a batch whose labels are some of its own tokens."""
    from transformers import BertConfig, BertForMaskedLM

    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = BertConfig(vocab_size=128, intermediate_size=64, **sizes)
    batch = padded(left=False)
    batch["labels"][:, ::2] = -100
    return BertForMaskedLM(config), batch
