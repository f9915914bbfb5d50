"""What a trained adapter would do at a smaller rank: its largest directions alone."""

import contextlib
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from ftlab.executions.listening import shared_name
from ftlab.executions.pairs import evaluating, side
from ftlab.executions.side import WithoutDropout, loss_of, undisturbed
from ftlab.laboratory.spectra import Spectrum, spectrum
from ftlab.probes.adapter.lora_pairs import LoraPair, is_rslora, lora_pairs
from ftlab.probes.adapter.spectrum import rank_of
from ftlab.probes.adapter.switched_off import without_adapters
from ftlab.records.errors import BadValueError
from ftlab.records.places import place_of
from ftlab.records.truncated_ranks import (
    LayerRank,
    RanksByLayer,
    TruncatedRank,
    TruncatedRanks,
)

SHARES = (0.9, 0.99, 0.999)
"""Of each update's energy, that ranks by layer are to keep."""
FORWARDS = 5
"""Forwards that are timed of each rank; the median counts."""


def truncated(
    model: torch.nn.Module, batch: Mapping[str, Any], ranks: Sequence[Any]
) -> TruncatedRanks:
    """Cut all active LoRA pairs to each rank, and measure loss and time of a forward.

    The parameters are replaced for that and put back; no value of them is written.

    Raises
    ------
    BadValueError
        There is no pair that is in use, or several adapters are, the batch has no loss,
        or a rank is no whole number from 0 to the adapter's r.
    """
    used = [pair for pair in lora_pairs(model) if _in_use(pair)]
    pairs = [pair for pair in used if not pair.reason and pair.parameters[0].dim() == 2]
    largest = max((int(pair.parameters[0].shape[0]) for pair in pairs), default=0)
    names = sorted({pair.adapter for pair in pairs})
    wrong = [e for e in ranks if type(e) is not int or not 0 <= e <= largest]
    what = ""
    if not pairs:
        what = "no LoRA pair is in use: there is none, or all are merged or off"
    elif len(names) > 1:
        what = (
            f"{' and '.join(names)} are active; set_adapter({names[0]!r}) chooses one"
        )
    elif wrong:
        what = f"ranks has {wrong[0]!r}, and the adapter's r is {largest}"
    if what:
        msg = f"{what}; pass whole numbers up to its r: ranks=(1, 2, 4)."
        raise BadValueError(msg)
    chosen = sorted({*ranks, 0, largest}, reverse=True)
    parts = [spectrum(*pair.parameters, 1.0) for pair in pairs]
    energy = float(sum((part.values**2).sum() for part in parts)) or 1.0
    found = []
    with (
        undisturbed(side(model, batch)),
        evaluating(model),
        WithoutDropout(),
        torch.compiler.set_stance("force_eager"),
    ):
        for rank in chosen:
            left = float(sum((part.values[:rank] ** 2).sum() for part in parts))
            with _cut(pairs, parts, [rank] * len(pairs)):
                loss, seconds = _measured(model, batch)
            found.append(TruncatedRank(rank, loss, seconds, left / energy))
        by_layer = tuple(_by_layer(model, batch, pairs, parts, e) for e in SHARES)
        with without_adapters(model):
            without, plain = _measured(model, batch)
    uncut = len(used) - len(pairs)
    return TruncatedRanks(tuple(found), plain, largest, without, by_layer, uncut)


def _by_layer(
    model: Any,
    batch: Mapping[str, Any],
    pairs: Sequence[LoraPair],
    parts: Sequence[Spectrum],
    share: float,
) -> RanksByLayer:
    """Cut each pair to the rank that holds the share of its energy, and measure."""
    held = [part.values.numpy()[None] for part in parts]
    enough = [int(np.nan_to_num(rank_of(values, share))[0]) for values in held]
    with _cut(pairs, parts, enough):
        loss, _ = _measured(model, batch, 1)
    layers = [
        LayerRank(
            shared_name(pair.module),
            place_of(shared_name(pair.module)),
            int(pair.parameters[0].shape[0]),
            rank,
            pair.scaling * (rank**0.5 if is_rslora(pair) else rank),
        )
        for pair, rank in zip(pairs, enough, strict=True)
    ]
    return RanksByLayer(tuple(layers), share, loss)


def _in_use(pair: LoraPair) -> bool:
    layer = pair.layer
    merged = pair.adapter in layer.merged_adapters
    active = pair.adapter in layer.active_adapters and not layer.disable_adapters
    return active and not merged


@contextlib.contextmanager
def _cut(
    pairs: Sequence[LoraPair], parts: Sequence[Spectrum], ranks: Sequence[int]
) -> Iterator[None]:
    """Let the pairs have their largest directions alone, as factors of these ranks."""
    with contextlib.ExitStack() as stack:
        for pair, part, rank in zip(pairs, parts, ranks, strict=True):
            down, up = pair.parameters
            if rank >= down.shape[0]:
                continue
            half = part.values[:rank].sqrt()
            a = (part.right[:, :rank] * half).T
            b = part.left[:, :rank] * half
            for parameter, value in ((down, a), (up, b)):
                stack.enter_context(_having(parameter, value))
        yield


@contextlib.contextmanager
def _having(parameter: torch.nn.Parameter, value: torch.Tensor) -> Iterator[None]:
    before = parameter.data
    parameter.data = value.to(before).contiguous()
    try:
        yield
    finally:
        parameter.data = before


def _measured(
    model: Any, batch: Mapping[str, Any], forwards: int = FORWARDS
) -> tuple[float, float]:
    loss, took = None, []
    with torch.no_grad():
        for _ in range(forwards):
            began = time.perf_counter()
            loss = loss_of(model(**batch))
            if loss is not None and loss.is_cuda:
                torch.cuda.synchronize(loss.device)
            took.append(time.perf_counter() - began)
    if loss is None:
        msg = "the batch has no labels, so there is no loss; pass one that has."
        raise BadValueError(msg)
    return float(loss), statistics.median(took)
