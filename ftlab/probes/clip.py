"""Gradient clipping as it happened: how, of how many parameters, to what effect."""

from typing import Any

import numpy as np
import torch

from ftlab.probes.open_step import OpenStep
from ftlab.probes.probe import Reading
from ftlab.probes.taps.clip import Clipping

EPSILON = 1e-6
"""What torch adds to the total norm before it divides by it."""


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
