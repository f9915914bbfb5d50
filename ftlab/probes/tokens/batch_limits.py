"""Which ids and labels a model can take: rows of its embedding, classes of its loss."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from ftlab.probes.taps.forward import innermost
from ftlab.records.attributes import attribute_of

_WITHIN = ("token_adapter", "original_module", "base_layer")
"""Where PEFT keeps what it has replaced."""

_CLASSES = ("ForSequence", "ForToken", "ForImageClass", "ForAudio", "ForVideo")
"""In the names of transformers models whose labels are classes."""

_OTHERWISE = ("regression", "multi_label_classification")
"""Problems whose labels are no classes."""


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """What a model's batches may hold; ``None`` for what is not known.

    Attributes
    ----------
    ids
        Rows of the input embedding.
    labels
        Classes that a label may name.
    per_token
        Whether labels go with tokens, one for each.
    aligned
        Whether they stand at the positions of the ids.
    known
        Whether it is a model of transformers, whose arguments have known meanings.
    placeholders
        Ids in whose place a picture or sound is put.
    """

    ids: int | None = None
    labels: int | None = None
    per_token: bool = False
    aligned: bool = False
    known: bool = False
    placeholders: frozenset[int] = field(default_factory=frozenset)


def limits_of(model: torch.nn.Module) -> BatchLimits:
    """Read the limits of a model, within wrappers and adapters.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.tokens.batch_limits import limits_of
    >>> limits_of(torch.nn.Sequential(torch.nn.Embedding(8, 2))).ids
    8
    """
    root = innermost(model)
    unwrap = attribute_of(root, "get_base_model")
    root = unwrap() if callable(unwrap) else root
    config = attribute_of(root, "config")
    if not getattr(config, "model_type", ""):
        return BatchLimits(ids=_own_rows(root))
    labels, per_token = _classes(root, config)
    return BatchLimits(
        _rows(called(root, "get_input_embeddings")),
        labels,
        per_token,
        per_token and not getattr(config, "is_encoder_decoder", False),
        known=True,
        placeholders=_placeholders(config),
    )


def called(model: Any, name: str) -> Any:
    """Return what a method gives; ``None`` where a model does not have it."""
    method = attribute_of(model, name)
    try:
        return method() if callable(method) else None
    except (NotImplementedError, AttributeError, TypeError):
        return None


def _rows(module: Any) -> int | None:
    """Return the rows of an embedding, or the outputs of a head."""
    if not isinstance(module, torch.nn.Module):
        return None
    base: Any = module
    while True:
        inner = vars(base).get("_modules", {})
        found = next((inner[n] for n in _WITHIN if inner.get(n) is not None), None)
        if found is None:
            break
        base = found
    for name in ("num_embeddings", "out_features"):
        count = attribute_of(base, name)
        if type(count) is int:
            return count
    return None


def _own_rows(model: torch.nn.Module) -> int | None:
    """Return the rows of the largest embedding: which one is for words is not told."""
    found = (_rows(m) for m in model.modules() if isinstance(m, torch.nn.Embedding))
    return max((rows for rows in found if rows is not None), default=None)


def _classes(model: Any, config: Any) -> tuple[int | None, bool]:
    name = type(model).__name__
    if any(part in name for part in _CLASSES):
        plain = getattr(config, "problem_type", None) not in _OTHERWISE
        count = getattr(config, "num_labels", None)
        several = type(count) is int and count > 1 and plain
        return (count if several else None), "ForToken" in name
    return _rows(called(model, "get_output_embeddings")), True


def _placeholders(config: Any) -> frozenset[int]:
    """Return the ids in whose place a picture or sound is put."""
    values: Mapping[str, Any] = getattr(config, "__dict__", {})
    ends = ("_token_id", "_token_index")
    marks = ("image", "video", "audio", "vision", "speech")
    return frozenset(
        value
        for name, value in values.items()
        if type(value) is int and name.endswith(ends) and name.startswith(marks)
    )
