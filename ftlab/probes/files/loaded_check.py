"""What is given to a load, against what the model has: keys, shapes and memory."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from ftlab.probes.files.adapter_keys import why_lost
from ftlab.probes.files.saved_keys import (
    PREFIX,
    adapter_configs,
    adapter_keys,
    learns_prompts,
)
from ftlab.records.printable import printable

SHOWN = 64
"""At most so many names of one kind are kept; how many there are is told besides."""


@dataclass(frozen=True, slots=True)
class Given:
    """A state dict that is about to be loaded.

    Attributes
    ----------
    adapter
        The adapter that PEFT loads; ``""`` for a load of torch's own.
    keys
        How many keys there are.
    aliased
        Trainable tensors that are given their own memory: loading leaves them as they
        are.
    trainable
        Trainable tensors that are given at all.
    misshapen
        Parts of the adapter that have another shape in the model.
    prompts
        Whether PEFT loads what is given into a prompt's encoder, by other names.
    missing_matters
        Names of the tensors that something ought to be loaded into: the trainable ones,
        or all where nothing is trainable.
    """

    adapter: str
    keys: int
    aliased: int
    trainable: int
    misshapen: list[str]
    prompts: bool
    missing_matters: frozenset[str]


def given_to(
    owner: torch.nn.Module, state: Mapping[str, Any], adapter: str | None
) -> Given:
    """Compare a state dict with the module that it is about to be loaded into."""
    named = dict(owner.named_parameters(remove_duplicate=False))
    own: dict[str, torch.Tensor] = {**named}
    for key, tensor in (adapter_keys(owner, adapter) if adapter else {}).items():
        own |= {key: tensor, key.removeprefix(PREFIX): tensor}
    pairs = [
        (key, value, own[key])
        for key, value in state.items()
        if isinstance(value, torch.Tensor) and key in own
    ]
    trained = [(value, mine) for _, value, mine in pairs if mine.requires_grad]
    wanted = [name for name, each in named.items() if each.requires_grad]
    configs = adapter_configs(owner)
    return Given(
        adapter or "",
        len(state),
        sum(_is_same_memory(value, mine) for value, mine in trained),
        len(trained),
        [k for k, v, mine in pairs if adapter and _is_misshapen(k, v, mine)][:SHOWN],
        any(learns_prompts(config) for config in configs.values()),
        frozenset(wanted or named),
    )


def compare_keys(given: Given, result: Any) -> dict[str, Any]:
    """Read of torch's answer how many keys were read, and why others were not.

    Returns
    -------
    dict
        ``matched``: keys that were read. ``lost``: keys that were not, although the
        model has the same tensor under another name, or all where none was read; their
        ``reason``, see `why_lost`; ``example``. Nothing where it cannot be told.
    """
    unread = getattr(result, "unexpected_keys", None)
    missing = getattr(result, "missing_keys", None)
    if unread is None or missing is None or given.prompts:
        return {}
    found: dict[str, Any] = {"matched": given.keys - len(unread)}
    if not unread:
        return found
    none = len(unread) >= given.keys
    wanted = missing if none else given.missing_matters.intersection(missing)
    reason, lost = why_lost(unread, wanted, whole=none)
    if lost:
        example = printable(lost[0])
        found |= {"lost": len(lost), "reason": reason, "example": example}
    return found


def _is_same_memory(given: torch.Tensor, own: torch.Tensor) -> bool:
    """Tell whether two tensors are the same values in memory, without reading any."""
    if given.is_meta or own.is_meta or given.device != own.device:
        return False
    place = own.data_ptr()
    return bool(place) and given.data_ptr() == place and given.shape == own.shape


def _is_misshapen(key: str, given: torch.Tensor, own: torch.Tensor) -> bool:
    """Tell whether a part of an adapter has another shape; a head may be new."""
    return ".lora_" in key and given.shape != own.shape and given.numel() > 0
