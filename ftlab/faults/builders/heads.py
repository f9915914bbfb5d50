"""Heads: what the last layer is called, and tiny classifiers of each family."""

from typing import Any

import torch

from ftlab.faults.builders.tiny import base
from ftlab.faults.builders.zoo import LABELS
from ftlab.faults.variation import current


def head(model: torch.nn.Module) -> str:
    """Name the last linear layer of a model of `builders.tiny.base`."""
    layers = (n for n, m in model.named_modules() if isinstance(m, torch.nn.Linear))
    return list(layers)[-1].rpartition(".")[2]


def own_head(model: Any) -> str:
    """Untie the last linear layer from the embeddings, and name it."""
    name = head(model)
    layer = getattr(model, name)
    layer.weight = torch.nn.Parameter(layer.weight.detach().clone())
    if hasattr(model, "config"):
        model.config.tie_word_embeddings = False
    return name


def classifier() -> Any:
    """Build a classifier of whole rows, in the variation's family of transformers."""
    import transformers

    model = base()
    torch.manual_seed(1000 * current().seed)
    name = type(model).__name__
    for end in ("ForCausalLM", "LMHeadModel"):
        name = name.removesuffix(end)
    kind = getattr(transformers, f"{name}ForSequenceClassification")
    model.config.num_labels = LABELS
    return kind(model.config)
