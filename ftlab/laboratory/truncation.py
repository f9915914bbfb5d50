"""What a trained adapter would do at a smaller rank: its largest directions alone."""

import contextlib
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from ftlab.executions.pairs import evaluating, side
from ftlab.executions.side import WithoutDropout, loss_of, undisturbed
from ftlab.laboratory.spectra import Spectrum, spectrum
from ftlab.probes.adapter.lora_pairs import LoraPair, lora_pairs
from ftlab.probes.adapter.switched_off import without_adapters
from ftlab.records.errors import BadValueError
from ftlab.records.truncated_ranks import TruncatedRank, TruncatedRanks

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
        There is no pair that is in use, the batch has no loss, or a rank is no whole
        number of 0 or more.
    """
    wrong = [each for each in ranks if type(each) is not int or each < 0]
    pairs = [pair for pair in lora_pairs(model) if _in_use(pair)]
    largest = max((int(pair.parameters[0].shape[0]) for pair in pairs), default=0)
    if wrong or not pairs:
        what = "no LoRA pair is in use: there is none, or all are merged or off"
        what = f"ranks has {wrong[0]!r}" if wrong else what
        msg = f"{what}; pass whole numbers of a LoRA in use: ranks=(1, 2, 4)."
        raise BadValueError(msg)
    tried = {min(each, largest) for each in ranks}
    chosen = sorted(tried | {0, largest}, reverse=True)
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
            with _cut(pairs, parts, rank):
                loss, seconds = _measured(model, batch)
            found.append(TruncatedRank(rank, loss, seconds, left / energy))
        with without_adapters(model):
            _, plain = _measured(model, batch)
    return TruncatedRanks(tuple(found), plain, largest)


def _in_use(pair: LoraPair) -> bool:
    layer = pair.layer
    merged = pair.adapter in layer.merged_adapters
    active = pair.adapter in layer.active_adapters and not layer.disable_adapters
    return active and not merged and not pair.reason and pair.parameters[0].dim() == 2


@contextlib.contextmanager
def _cut(
    pairs: Sequence[LoraPair], parts: Sequence[Spectrum], rank: int
) -> Iterator[None]:
    """Let the pairs have their largest directions alone, as factors of that rank."""
    with contextlib.ExitStack() as stack:
        for pair, part in zip(pairs, parts, strict=True):
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


def _measured(model: Any, batch: Mapping[str, Any]) -> tuple[float, float]:
    loss, took = None, []
    with torch.no_grad():
        for _ in range(FORWARDS):
            began = time.perf_counter()
            loss = loss_of(model(**batch))
            if loss is not None and loss.is_cuda:
                torch.cuda.synchronize(loss.device)
            took.append(time.perf_counter() - began)
    if loss is None:
        msg = "the batch has no labels, so there is no loss; pass one that has."
        raise BadValueError(msg)
    return float(loss), statistics.median(took)
