"""Gradient clipping as it happened: how, of how many parameters, to what effect."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch

from ftlab.probes.probe import Reading
from ftlab.probes.stepping.carried import is_due, spread
from ftlab.probes.stepping.open_step import OpenStep
from ftlab.probes.subject import Subject
from ftlab.probes.taps.clip import Clipping
from ftlab.probes.tensors.reductions import l2_norms
from ftlab.probes.tensors.updates import spaced
from ftlab.probes.watched import WatchedParameters

EPSILON = 1e-6
"""What torch adds to the total norm before it divides by it."""

LEFT_OUT = 64
"""Rows of tensors that a clipping left out which are listed."""


def begin_clip(step: OpenStep, how: Clipping, **counts: Any) -> dict[str, Any]:
    """Write the call into the ledger and into the step's row."""
    clips = step.values.get("clips", 0.0) + 1.0
    step.values["clips"] = clips
    step.draft["clip_norm"] = how.limit if how.kind == "norm" else None
    return step.ledger.add(
        "clip", how.kind, max_norm=how.limit, norm_type=how.norm_type, **counts
    )


def end_clip(
    step: OpenStep, entry: dict[str, Any], total_norm: torch.Tensor | None
) -> None:
    """Learn later which factor the clipping applied.

    The step's row gets it only where clipping was called once: of several calls, each
    on some of the parameters, no single factor is true.
    """
    if total_norm is None:
        return
    if step.ledger.dropped and step.values["clips"] > 1.0:
        return  # neither the ledger nor the row has a place for it
    limit = entry["detail"]["max_norm"]

    def finish(values: Any) -> tuple[()]:
        with np.errstate(all="ignore"):
            coefficient = float(np.minimum(limit / (values[0] + EPSILON), 1.0))
        entry["detail"]["total_norm"] = float(values[0])
        entry["detail"]["coefficient"] = coefficient
        once = step.values["clips"] == 1.0
        step.draft["clip_coefficient"] = coefficient if once else None
        return ()

    values = total_norm.detach().reshape(1).float().clone()
    step.keep(("clip", str(id(entry))), [Reading(values, finish)])


def note_idle_clip(step: OpenStep, how: Clipping, **counts: Any) -> None:
    """Write into the ledger that what was clipped had no gradient at all."""
    limits = {"max_norm": how.limit, "norm_type": how.norm_type}
    step.ledger.add("clip", how.kind, **limits, **counts)


def read_beyond(
    step: OpenStep, entry: dict[str, Any], parameters: Sequence[torch.Tensor]
) -> None:
    """Learn later which share of the gradients, but for zeros, is beyond the limit.

    With it comes what is left of their norm. It is read of a sample of a few tensors,
    at some steps.
    """
    if not is_due(step.step) or "times" in entry["detail"]:
        return
    sound = [each.grad for each in parameters if type(each.grad) is torch.Tensor]
    dense = [each for each in sound if each.layout is torch.strided and each.numel()]
    if not dense:
        return
    limit = entry["detail"]["max_norm"]
    samples = [spaced(each.detach()).abs() for each in spread(dense)]
    beyond = torch.stack([(each >= limit).sum() for each in samples]).sum()
    moving = torch.stack([(each > 0).sum() for each in samples]).sum()
    before = l2_norms(samples).norm()
    after = l2_norms([each.clamp(max=limit) for each in samples]).norm()

    def finish(values: Any) -> tuple[()]:
        if values[1] > 0:
            entry["detail"]["beyond"] = float(values[0] / values[1])
            entry["detail"]["kept"] = float(values[3] / values[2])
        return ()

    values = torch.stack([beyond.float(), moving.float(), before, after])
    step.keep(("beyond", str(id(entry))), [Reading(values, finish)])


def tell_left_out(step: OpenStep, watched: WatchedParameters, subject: Subject) -> None:
    """Add to the last clipping of a step which tensors none has covered."""
    if step.clip is None or len(step.clipped & watched.members) == len(watched.members):
        return
    tensors = watched.tensors
    pairs = zip(tensors.ids.tolist(), tensors.parameters, strict=True)
    left = [row for row, each in pairs if id(each) not in step.clipped]
    step.clip["detail"] |= {
        "left_out": left[:LEFT_OUT],
        "left_out_count": len(left),
        "groups": [_is_within(g["params"], step.clipped) for g in _groups(subject)],
    }


def _groups(subject: Subject) -> Iterable[Any]:
    return (group for each in subject.optimizers for group in each.param_groups)


def _is_within(parameters: Iterable[torch.Tensor], known: set[int]) -> bool:
    return all(id(each) in known for each in parameters)
