"""What one block of a model attends to, from the arguments that it was handed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ftlab.probes.attention.block_calls import BlockCall
from ftlab.probes.attention.blocks import attentions_in
from ftlab.probes.attention.flash import flash_pattern
from ftlab.probes.attention.mask_calls import KeptMasks
from ftlab.probes.attention.patterns import (
    Both,
    CausalOnly,
    EverythingSeen,
    FromFunction,
    FromTensor,
    Indices,
    Pattern,
    Tile,
)
from ftlab.records.attention import LayerKind
from ftlab.records.attributes import attribute_of, has_attribute
from ftlab.records.errors import BadValueError

_OWN = ("attention_mask", "mask", "causal_mask")
_CROSS = ("encoder_attention_mask", "cross_attn_mask")
_UNMASKED = ("linear", "conv", "mamba", "recurrent", "ssm")


@dataclass(slots=True)
class LayerMask:
    """One mask, and the layers that use it.

    Attributes
    ----------
    side
        ``"decoder"``, ``"encoder"`` or ``"cross"``; a model that has one side only is
        all ``"decoder"``.
    due
        Whether all that is legal in the kind's window should be seen.
    """

    kind: LayerKind
    pattern: Pattern
    side: str
    due: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class _OwnTriangle(Pattern):
    """The triangle that an attention keeps as a buffer of its own."""

    values: torch.Tensor

    def tile(self, row: int, queries: Indices, keys: Indices) -> Tile:
        """Read the buffer, whose last rows stand for the queries."""
        at = torch.from_numpy(queries + self.keys - self.queries)
        part = self.values[0, 0][at.to(self.values.device)]
        result: Tile = part[:, torch.from_numpy(keys).to(part.device)].cpu().numpy()
        return np.ascontiguousarray(result.astype(bool))


class Layer:
    """What one block attends to, from the arguments that it was handed."""

    def __init__(
        self, call: BlockCall, tables: list[KeptMasks], sides: bool, asked: str
    ) -> None:
        self._call = call
        self._tables = tables
        self._attentions = list(attentions_in(call.block))
        self._config = _first(self._attentions, "config")
        own = getattr(self._config, "_attn_implementation", None)
        self._implementation = str(own or asked)
        self._flash = self._implementation.startswith("flash")
        encoder = "encoder" in call.stack.path.split(".") and sides
        self._side = "encoder" if encoder else "decoder"
        self._type = _layer_type(call, self._attentions, self._config)
        # blocks without attention of their own are linear layers, convolutions ...
        linear = any(word in self._type for word in _UNMASKED)
        self.unmasked = not self._attentions or linear

    def masks(self, remarks: list[str]) -> Iterator[tuple[Any, LayerMask]]:
        """Yield the layer's own mask and that of its cross-attention, if it has one."""
        given = self._call.arguments
        own = next((given[name] for name in _OWN if name in given), None)
        yield self._mask(own, self._causal(), self._side, remarks)
        states = given.get("encoder_hidden_states")
        if states is not None:
            cross = next((given[name] for name in _CROSS if name in given), None)
            yield self._mask(cross, False, "cross", remarks)

    def _causal(self) -> bool:
        told = self._call.arguments.get("is_causal")
        if told is None:
            told = _first(self._attentions, "is_causal")
        if told is None:
            told = _first(self._attentions, "is_decoder")
        return self._side != "encoder" if told is None else bool(told)

    def _mask(
        self, value: Any, causal: bool, side: str, remarks: list[str]
    ) -> tuple[Any, LayerMask]:
        queries, keys = self._lengths(side)
        rows = self._call.hidden[0]
        window = self._window() if side != "cross" else 0
        kept = next((each for t in self._tables if (each := t.of(value))), None)
        pattern: Pattern
        due = True
        if self._flash and side != "cross" and getattr(value, "ndim", 2) == 2:
            pattern, said = flash_pattern(
                self._call.arguments,
                rows,
                queries,
                mask=value,
                causal=causal,
                window=window,
            )
            window = pattern.window
        elif kept is not None:
            pattern, local = kept
            # a chunk is no window: what is due depends on where it begins
            chunked = bool(local) and self._chunked(local)
            window, due = local, not chunked
            said = "the mask function that the model asks transformers for"
        else:
            pattern, said = self._made_elsewhere(
                value, causal, (queries, keys), remarks
            )
            window, due = 0, not window
        triangle = self._triangle(pattern)
        if triangle is not None:
            pattern = Both(
                queries=pattern.queries,
                keys=pattern.keys,
                offset=pattern.offset,
                first=pattern,
                second=triangle,
            )
            due = due and "local" not in self._type
            said += ", and the attention's own buffer"
        key = (side, id(value), causal, window, self._type, triangle is not None)
        name = kind_name(self._type, causal=causal, side=side, window=window, due=due)
        layers = (self._call.number,)
        due = due and (causal or not window)
        return key, LayerMask(
            LayerKind(name, layers, causal, window, said), pattern, side, due
        )

    def _made_elsewhere(
        self, value: Any, causal: bool, size: tuple[int, int], remarks: list[str]
    ) -> tuple[Pattern, str]:
        """Read a mask that no function of transformers made."""
        queries, keys = size
        if value is None:
            sdpa = "sdpa" in self._implementation
            if sdpa and causal and queries > 1:
                return (
                    CausalOnly(queries=queries, keys=keys),
                    "no mask: scaled_dot_product_attention is told to be causal",
                )
            return EverythingSeen(queries=queries, keys=keys), "no mask at all"
        if hasattr(value, "mask_mod"):
            shape = value.shape
            pattern = FromFunction(
                queries=shape[-2], keys=shape[-1], function=value.mask_mod, mapped=True
            )
            return pattern, "the mask_mod of a BlockMask"
        if not isinstance(value, torch.Tensor) or value.device.type == "meta":
            msg = (
                f"{type(self._call.block).__name__} was handed a mask that cannot be "
                f"read ({type(value).__name__}): the model changes what transformers "
                "makes before its blocks get it."
            )
            raise BadValueError(msg)
        return self._from_tensor(value, causal, size, remarks)

    def _from_tensor(
        self,
        value: torch.Tensor,
        causal: bool,
        size: tuple[int, int],
        remarks: list[str],
    ) -> tuple[Pattern, str]:
        queries, keys = size
        if value.ndim == 2:
            four = value[:, None, None].bool()
            pattern: Pattern = FromTensor(
                queries=queries, keys=value.shape[1], values=four, causal=causal
            )
            return pattern, "a 2-D mask that the block was handed"
        if value.dtype == torch.bool and self._implementation == "eager":
            remarks.append(
                "a bool mask is added to the scores by eager attention, as 0 and 1: it "
                "hides nothing; hand over 0 and torch.finfo(dtype).min, or use sdpa"
            )
            return (
                EverythingSeen(queries=value.shape[-2], keys=value.shape[-1]),
                "a bool mask, which eager attention adds as numbers",
            )
        if value.dtype not in (torch.bool,) and not value.dtype.is_floating_point:
            value = value.float()
        # some models make masks that are longer than the keys, and cut them later
        four = value[(None,) * (4 - value.ndim)][..., :keys]
        pattern = FromTensor(
            queries=queries,
            keys=four.shape[-1],
            offset=four.shape[-1] - queries,
            values=four,
        )
        return pattern, f"a {value.ndim}-D mask that the block was handed"

    def _triangle(self, pattern: Pattern) -> _OwnTriangle | None:
        """Return the triangle that eager attention of older models applies itself."""
        if self._implementation != "eager":
            return None
        for attention in self._attentions:
            for name, buffer in attention.named_buffers(recurse=False):
                square = buffer.ndim == 4 and buffer.shape[-1] == buffer.shape[-2]
                fits = square and buffer.shape[-1] >= pattern.keys
                if (
                    name == "bias"
                    and fits
                    and buffer.dtype in (torch.bool, torch.uint8)
                ):
                    # the mask alone says it where nothing is hidden beyond it
                    return _OwnTriangle(
                        queries=pattern.queries,
                        keys=pattern.keys,
                        offset=pattern.offset,
                        values=buffer,
                    )
        return None

    def _chunked(self, size: int) -> bool:
        if self._type:
            return "chunk" in self._type
        return getattr(self._config, "attention_chunk_size", None) == size

    def _window(self) -> int:
        """Return what the attention itself holds to be its window."""
        for attention in self._attentions:
            if has_attribute(attention, "sliding_window"):
                held = attention.sliding_window
                return held if isinstance(held, int) else 0
        if getattr(self._config, "layer_types", None):
            return 0
        found = getattr(self._config, "sliding_window", None)
        return found if isinstance(found, int) else 0

    def _lengths(self, side: str) -> tuple[int, int]:
        queries = self._call.hidden[1]
        states = self._call.arguments.get("encoder_hidden_states")
        if side == "cross" and states is not None:
            return queries, states.shape[1]
        cache = self._call.arguments.get("past_key_values")
        seen = getattr(cache, "get_seq_length", None)
        return queries, queries + (int(seen()) if callable(seen) else 0)


def _first(modules: list[torch.nn.Module], name: str) -> Any:
    found = (attribute_of(module, name) for module in modules)
    return next((each for each in found if each is not None), None)


def _layer_type(call: BlockCall, attentions: list[torch.nn.Module], config: Any) -> str:
    """Return what the model calls this kind of layer; ``""`` if it does not."""
    for module in (call.block, *attentions):
        for name in ("attention_type", "layer_type"):
            told = attribute_of(module, name)
            if isinstance(told, str):
                return told
    types = getattr(config, "layer_types", None) or ()
    return str(types[call.number]) if call.number < len(types) else ""


def kind_name(told: str, *, causal: bool, side: str, window: int, due: bool) -> str:
    """Name a kind of layer, as the model calls it or by what it does."""
    if side == "cross":
        return "cross"
    name = told.removesuffix("_attention").replace("_", " ")
    if name in ("", "full", "global", "self", "decoder"):
        if window:
            name = "sliding" if due else "chunked"
        elif not causal:
            name = "bidirectional"
        else:
            name = "full"
    return f"{side} {name}" if side == "encoder" else name
