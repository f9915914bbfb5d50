"""A hook that should keep the old rows as they are keeps the new ones.

Only new rows shall be trained; a hook on the embedding's gradient zeroes the others.
It zeroes the wrong half.

Fix: ``gradient[:old] = 0``, not ``gradient[old:] = 0``.
Source: huggingface/transformers#29897 (hooks that mask gradients of rows); measured.
"""

import torch

from ftlab.faults.builders import VOCABULARY, Case, Fault, batches, plain_case
from ftlab.faults.builders.new_words import NEW, learnt_base, with_new_tokens
from ftlab.probes.tokens.token_tables import token_tables


def enlarge(model: torch.nn.Module) -> list[torch.Tensor]:
    """Give the embedding and the head new rows by hand, and return their weights."""
    weights = []
    for table in token_tables(model):
        path, _, name = table.name.rpartition(".")
        width, rows = table.weight.shape[1], VOCABULARY + NEW
        drawn = torch.nn.Linear(width, rows) if table.output else None
        new = (drawn or torch.nn.Embedding(rows, width)).weight
        new.data[:VOCABULARY] = table.weight.data
        setattr(model.get_submodule(path), name, new)
        weights.append(new)
    return weights


def build(fixed: bool) -> Case:
    """Train a model in full, but for the old rows, or for the new ones."""
    model = learnt_base()
    torch.manual_seed(0)

    def keep(gradient: torch.Tensor) -> torch.Tensor:
        gradient = gradient.clone()
        gradient[slice(VOCABULARY) if fixed else slice(VOCABULARY, None)] = 0
        return gradient

    for weight in enlarge(model):
        weight.register_hook(keep)
    if hasattr(model, "config"):
        model.config.vocab_size += NEW
    rows = with_new_tokens(batches())
    places = tuple(f"param {table.name}" for table in token_tables(model))
    return plain_case(model, rows=rows, places=places)


FAULT = Fault(
    "the gradient of the new tokens is zeroed instead of that of the old ones",
    code="MOD009",
    places=("param words.weight",),
    steps=20,
    evident=9,
    families=("llama", "neox", "own"),
)
