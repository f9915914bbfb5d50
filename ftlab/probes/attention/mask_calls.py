"""Keeping transformers' own mask functions in place of the masks they would make.

Models make their masks by `transformers.masking_utils.create_causal_mask` and its
like, which end in the entry of ``ALL_MASK_ATTENTION_FUNCTIONS`` for the attention
implementation. Inside `masks_kept` this entry is one of ours: it keeps the function
that it is given and returns an empty tensor on the meta device, which stands for the
mask wherever the model hands it on.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ftlab.probes.attention.patterns import FromFunction

_ONE_AT_A_TIME = threading.RLock()


class KeptMasks:
    """The mask functions of one forward, by the tensors that stand for them."""

    def __init__(self) -> None:
        self._kept: list[tuple[torch.Tensor, FromFunction, int]] = []

    def of(self, stand_in: Any) -> tuple[FromFunction, int] | None:
        """Return the mask that a tensor stands for, and its window or chunk size."""
        for tensor, pattern, local in self._kept:
            if stand_in is tensor or _views(stand_in, tensor):
                return pattern, local
        return None

    def keep(self, **asked: Any) -> torch.Tensor:
        """Stand in for a mask function of transformers."""
        pattern = pattern_of(asked)
        shape = (int(asked["batch_size"]), 1, pattern.queries, pattern.keys)
        stand_in = torch.empty(shape, dtype=torch.bool, device="meta")
        self._kept.append((stand_in, pattern, int(asked.get("local_size") or 0)))
        return stand_in


def pattern_of(asked: dict[str, Any]) -> FromFunction:
    """Read what a mask function of transformers is asked for.

    Up to transformers 4.57 the queries come as positions in the cache.
    """
    queries, keys = asked.get("q_length"), int(asked["kv_length"])
    start, old = asked.get("q_offset", 0), asked.get("cache_position")
    if old is not None:
        queries, start = len(old), int(old[0]) if len(old) else 0
    start, key_start = int(start), int(asked.get("kv_offset", 0))
    padding, device = asked.get("attention_mask"), asked.get("device")
    if device is None:
        device = old.device if old is not None else "cpu"
    return FromFunction(
        queries=int(queries or 0),
        keys=keys,
        offset=start - key_start,
        function=asked["mask_function"],
        query_start=start,
        key_start=key_start,
        padding=_slots(padding, keys, key_start),
        # older versions map every function: it may be written for single indices
        mapped=bool(asked.get("use_vmap", old is not None)),
        device=device,
    )


@contextlib.contextmanager
def masks_kept(implementation: str) -> Iterator[KeptMasks]:
    """Keep the masks of ``implementation`` while the block runs."""
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS as TABLE

    kept = KeptMasks()
    with _ONE_AT_A_TIME:
        local = TABLE._local_mapping  # noqa: SLF001
        missing = object()
        before: Callable[..., Any] | object = local.get(implementation, missing)

        def keep(*given: Any, **asked: Any) -> torch.Tensor:
            names = ("batch_size", "q_length", "kv_length", "q_offset", "kv_offset")
            return kept.keep(**dict(zip(names, given, strict=False)), **asked)

        TABLE[implementation] = keep
        try:
            yield kept
        finally:
            if before is missing:
                del TABLE[implementation]
            else:
                TABLE[implementation] = before


def _slots(padding: torch.Tensor | None, keys: int, start: int) -> torch.Tensor | None:
    """Fill a padding mask up to the last key, as ``prepare_padding_mask`` does."""
    if padding is None:
        return None
    short = keys + start - padding.shape[-1]
    padding = torch.nn.functional.pad(padding, (0, short)) if short > 0 else padding
    return padding.bool()


def _views(one: Any, other: torch.Tensor) -> bool:
    """Tell whether ``one`` is all of ``other`` by another name."""
    if not isinstance(one, torch.Tensor) or one.device.type != "meta":
        return False
    base = one._base  # noqa: SLF001
    return base is other and one.shape[-2:] == other.shape[-2:]
