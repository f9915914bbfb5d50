"""Models that have learnt their vocabulary, and get new tokens afterwards."""

from typing import Any

import torch
from packaging.version import Version

from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import VOCABULARY, Batch, adamw, base, batches
from ftlab.faults.fault import Case

NEW = 4
"""Tokens that are added."""


def learnt_base() -> Any:
    """Build a model of the variation's family whose rows were all trained."""
    model = base()
    optimizer = adamw(model, lr=1e-2)
    rows = batches(16, size=16, seed=3)
    Case(model, optimizer, rows, plain_step(model, optimizer)).run(32)
    return model


def new_ids() -> list[int]:
    """Return the ids of the new tokens."""
    return list(range(VOCABULARY, VOCABULARY + NEW))


def with_new_tokens(made: list[Batch], column: int = 4) -> list[Batch]:
    """Put new tokens into one column of the rows, by turns."""
    for number, batch in enumerate(made):
        for name in ("input_ids", "labels"):
            rows = torch.arange(len(batch[name])) + number
            batch[name][:, column] = VOCABULARY + rows % NEW
    return made


def rows_trained(model: Any, ids: list[int]) -> dict[str, Any]:
    """Return the settings of a LoRA that trains these rows of the embedding and head.

    PEFT before 0.18 trains single rows of embeddings alone: there it is the whole head.
    """
    import peft

    words, *head = tables(model)
    if Version(peft.__version__) >= Version("0.18"):
        return {"trainable_token_indices": dict.fromkeys([words, *head], ids)}
    return {"trainable_token_indices": {words: ids}, "modules_to_save": head or None}


def tables(model: Any) -> list[str]:
    """Name the embedding, and the head where it has a weight of its own."""
    words, head = model.get_input_embeddings(), model.get_output_embeddings()
    paths = {id(m): path.rpartition(".")[2] for path, m in model.named_modules()}
    wanted = [words] if words.weight is head.weight else [words, head]
    return [paths[id(module)] for module in wanted]
