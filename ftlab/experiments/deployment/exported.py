"""RTP005, exported: converted to another engine, it predicts the same.

## What must hold
The folder that CTranslate2 runs gives the log-probabilities of the live model, up to
what rounding moves them.

## Why
A converter that does not know an option of the config, a base that was converted
without its adapter, or a vocabulary without the added tokens makes another model.

## When it does not apply
Without ``exported=``, a folder that CTranslate2 loads, or without ctranslate2. A GGUF
file is run by a server of llama.cpp: pass that as ``served=``.

## What to try
Convert the merged model, and after that no other; give ``bits=`` where it was
quantised.

## References
- CTranslate2, "Transformers"
"""

from typing import Any

import numpy as np
import torch

from ftlab.executions.side import NotApplicableError
from ftlab.experiments.deployment.outside import Seen, distance, why
from ftlab.experiments.deployment.station import Station
from ftlab.experiments.deployment.trip import Trip
from ftlab.records.outcome import Outcome

TOP = 20
"""Likeliest tokens that are compared at each place."""


class Exported(Station):
    """The live model, and what CTranslate2 runs."""

    code = "RTP005"
    name = "exported"
    relation = "CTranslate2 gives the same log-probabilities"
    cause = "What was converted is not the live model."
    fix = "Convert the merged model, saved in a folder of its own."

    def run(self, trip: Trip) -> Outcome:
        """Run the exported model on the prompts and the live answers."""
        if trip.exported is None:
            msg = "no exported= folder was passed"
            raise NotApplicableError(msg)
        try:
            import ctranslate2
        except ModuleNotFoundError as error:
            msg = "ctranslate2 is not installed: pip install ctranslate2"
            raise NotApplicableError(msg) from error
        try:
            engine = ctranslate2.Generator(str(trip.exported), device="cpu")
        except (RuntimeError, ValueError) as error:
            return self.cannot_be_loaded(error)
        rows = trip.rows
        seen = [each for at, row in enumerate(rows) for each in _seen(engine, at, row)]
        known = min(int(each.logprobs.shape[0]) for each in seen)
        vocabulary = trip.model.get_input_embeddings().weight.shape[0]
        found = distance(trip.model, rows, [_top(each) for each in seen], trip.bits)
        says = f"log-probabilities differ by up to {found.apart:.3g} nats, "
        says += f"{found.apart / max(found.floor, 1e-12):.3g} x what rounding moves"
        evidence = {"apart (nats)": found.apart, "floor (nats)": found.floor}
        if found.equal:
            return self.outcome("holds", says, evidence=evidence)
        if known < vocabulary:
            says += f"; it knows {known} tokens, the live model {vocabulary}"
        variant = why(trip.model, rows, [_top(each) for each in seen])
        more = {"fix": variant.fix} if variant is not None else {}
        if variant is not None:
            says += f"; it answers as the live model {variant.words}"
        return self.outcome("broken", says, evidence=evidence, **more)


def _seen(engine: Any, at: int, row: tuple[int, ...]) -> list[Seen]:
    view = engine.forward_batch([list(row)], return_log_probs=True)
    logprobs = torch.from_numpy(np.array(view)[0])
    every = torch.arange(logprobs.shape[-1])
    return [Seen(at, position, every, each) for position, each in enumerate(logprobs)]


def _top(seen: Seen) -> Seen:
    values, ids = seen.logprobs.topk(min(TOP, len(seen.logprobs)))
    return Seen(seen.row, seen.position, ids, values)
