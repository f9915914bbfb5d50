"""Models of few bits: they may round, and must not round the fine-tuning away."""

from typing import Any

import torch

from ftlab.executions.effects import LEFT, share_left
from ftlab.executions.pairs import evaluating
from ftlab.experiments.deployment.station import (
    Station,
    distances,
    logits_of,
    mean_divergence,
)
from ftlab.experiments.deployment.trip import Trip
from ftlab.records.outcome import Outcome, State


def rounded(station: Station, trip: Trip, again: Any) -> Outcome:
    """Hold a model of few bits against the live one.

    What rounding moves must stay below what fine-tuning has moved, and at least half
    of the adapter's effect must be left.
    """
    model, real = trip.model, trip.live.batch["attention_mask"].bool()
    mine, theirs = logits_of(trip, model)[real], logits_of(trip, again)[real]
    evidence = distances(mine, theirs)
    alike = f"{evidence['likeliest token']} likeliest tokens are the same"
    if not hasattr(model, "disable_adapter"):
        says = f"there is no adapter whose effect this could be held against; {alike}"
        return station.outcome("cannot be decided", says, evidence=evidence)
    with torch.no_grad(), evaluating(model), model.disable_adapter():
        base = logits_of(trip, model)[real]
    share = share_left(mine, base, theirs)
    if share is None or bool((mine.argmax(-1) == base.argmax(-1)).all()):
        says = f"the adapter changes no likeliest token that could be lost; {alike}"
        return station.outcome("cannot be decided", says, evidence=evidence)
    moved, meant = mean_divergence(mine, theirs), mean_divergence(mine, base)
    evidence |= {"share of the effect": share, "KL of the fine-tuning (nats)": meant}
    says = (
        f"{share:.0%} of the adapter's effect is left; rounding moves the model by "
        f"{moved:.3g} nats, fine-tuning did by {meant:.3g}; {alike}"
    )
    state: State = "broken" if share < LEFT or moved > meant else "holds"
    return station.outcome(state, says, evidence=evidence)
