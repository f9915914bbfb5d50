"""The masks that a model's layers use for one batch."""

import contextlib
import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from ftlab.probes.attention.block_calls import BlockCall, block_calls
from ftlab.probes.attention.blocks import stacks_of
from ftlab.probes.attention.layer import Layer, LayerMask
from ftlab.probes.attention.mask_calls import KeptMasks, masks_kept
from ftlab.probes.attention.undisturbed import (
    implementation_set,
    implementations_of,
    undisturbed,
)
from ftlab.records.errors import BadValueError


@dataclass(slots=True)
class ModelMasks:
    """All masks of a model.

    Attributes
    ----------
    rows
        Of the batch, as the blocks saw it.
    """

    implementation: str
    rows: int
    masks: list[LayerMask] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def masks_of(
    model: torch.nn.Module, forward: Callable[[], Any], implementation: str = ""
) -> ModelMasks:
    """Return the masks that ``model`` makes while ``forward`` runs.

    ``forward`` is not run beyond the last block, and no block is computed. Random
    numbers, modes and gradients stay as they are.

    Parameters
    ----------
    implementation
        Another attention implementation, to see what it would do.
    """
    stacks = stacks_of(model)
    if not stacks:
        msg = (
            f"{type(model).__name__} holds no list of blocks with attention in them, "
            "so its masks cannot be read. Pass the batch and a config instead: "
            "ftlab.masks(batch=batch, config=config)."
        )
        raise BadValueError(msg)
    with contextlib.ExitStack() as scope:
        scope.enter_context(undisturbed(model))
        scope.enter_context(implementation_set(model, implementation))
        names = sorted(implementations_of(model))
        tables = [
            scope.enter_context(masks_kept(name))
            for name in names
            if not name.startswith("flash")
        ]
        calls = block_calls(stacks, forward)
        if not calls:
            msg = f"{type(model).__name__} called none of its blocks for this batch."
            raise BadValueError(msg)
        return _read(calls, tables, implementation or " and ".join(names))


def _read(
    calls: list[BlockCall], tables: list[KeptMasks], implementation: str
) -> ModelMasks:
    found = ModelMasks(implementation, calls[0].hidden[0])
    groups: dict[Any, LayerMask] = {}
    skipped: list[str] = []
    sides = len({call.stack.path for call in calls}) > 1
    for call in calls:
        layer = Layer(call, tables, sides, implementation)
        if layer.unmasked:
            skipped.append(str(call.number))
            continue
        for key, mask in layer.masks(found.remarks):
            known = groups.get(key)
            if known is None:
                groups[key] = mask
            else:
                numbers = (*known.kind.layers, call.number)
                known.kind = dataclasses.replace(known.kind, layers=numbers)
    found.masks = _named(list(groups.values()))
    if skipped:
        which = f"layer{'s' if len(skipped) > 1 else ''} {', '.join(skipped)}"
        found.remarks.append(f"{which}: no attention between pairs of positions")
    found.remarks = list(dict.fromkeys(found.remarks))
    return found


def _named(masks: list[LayerMask]) -> list[LayerMask]:
    """Give masks of one name a number each."""
    seen: dict[str, int] = {}
    for mask in masks:
        name = mask.kind.name
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            mask.kind = dataclasses.replace(mask.kind, name=f"{name} {seen[name]}")
    return masks
