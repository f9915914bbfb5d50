"""How far a model's positions go, and the first token of a batch that is beyond."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from ftlab.probes.attention.documents import rows_of
from ftlab.probes.attention.positions import has_table
from ftlab.probes.taps.forward import innermost
from ftlab.records.attention import PADDING, Documents
from ftlab.records.attributes import attribute_of


def limit_of(model: torch.nn.Module) -> int:
    """Return the positions that a model is made for; 0 where nothing says so.

    Rotary positions that are scaled reach as far as their scale; those that scale
    themselves by the length of a row, windows in all layers, and rows with pictures,
    whose positions are fewer than their tokens, have no limit that is known.

    Examples
    --------
    >>> from transformers import GPT2Config, GPT2Model
    >>> from ftlab.probes.attention.position_limit import limit_of
    >>> limit_of(GPT2Model(GPT2Config(n_embd=8, n_layer=1, n_head=1, n_positions=32)))
    32
    """
    whole: Any = attribute_of(innermost(model), "config", None)
    config = whole.get_text_config() if hasattr(whole, "get_text_config") else whole
    limit = getattr(config, "max_position_embeddings", None)
    if type(limit) is not int or getattr(whole, "is_encoder_decoder", False):
        return 0
    if config is not whole or _windowed(config) or getattr(config, "alibi", False):
        return 0
    rotary = _rotary(config)
    if not rotary:
        return limit if has_table(innermost(model)) else 0
    if any("dynamic" in {each.get("rope_type"), each.get("type")} for each in rotary):
        return 0
    return max(_reach(each, limit) for each in rotary)


def _windowed(config: Any) -> bool:
    """Tell whether every layer sees a window only, so that no distance is long."""
    kinds = getattr(config, "layer_types", None)
    if kinds:
        return all("sliding" in each or "chunked" in each for each in kinds)
    return bool(getattr(config, "sliding_window", None)) and (
        getattr(config, "use_sliding_window", True) is not False
    )


def _rotary(config: Any) -> list[Mapping[str, Any]]:
    """Return the settings of rotary positions, one for each kind of layer."""
    found = getattr(config, "rope_parameters", None)
    found = found or getattr(config, "rope_scaling", None)  # before transformers 5
    if not isinstance(found, Mapping):
        return [{}] if getattr(config, "rope_theta", None) else []
    nested = [each for each in found.values() if isinstance(each, Mapping)]
    return nested or [found]


def _reach(rotary: Mapping[str, Any], limit: int) -> int:
    """Return how far scaled positions go: a config may give the length before it."""
    factor = rotary.get("factor")
    if not isinstance(factor, int | float):
        return limit
    original = rotary.get("original_max_position_embeddings") or limit
    return max(limit, int(original * factor))


def beyond(
    inputs: Mapping[str, Any], documents: Sequence[Documents], limit: int
) -> dict[str, int]:
    """Return the first token whose position is not below the limit; empty if none.

    Positions count from the first of the row's tokens: only distances matter to
    rotary ones.
    """
    positions = rows_of(inputs.get("position_ids"))
    for row, known in enumerate(documents):
        real = known.numbers != PADDING
        if not real.any():
            continue
        held = np.arange(len(real))
        if positions is not None and positions.shape[1] == len(real):
            held = positions[min(row, len(positions) - 1)]
        elif inputs.get("position_ids") is not None:
            return {}
        reached = held - held[real].min()
        late = np.flatnonzero((reached >= limit) & real)
        if len(late):
            last = int(reached[real].max())
            return {"row": row, "token": int(late[0]), "last": last, "limit": limit}
    return {}
