"""Whether passes beside the training pass are the training pass over again.

A reference is to give what the policy gave at the start. Where it gives, on the same
batch and after updates, what the policy gives now, it is the policy. So some elements
of the model's last output are kept of every pass of a step, and compared bit for bit.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.graph.output_samples import Caller, OutputSamples, Sample
from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.schedule import every
from ftlab.probes.subject import Subject
from ftlab.records.handle import Handle
from ftlab.records.step import Column

_COLUMNS: dict[Caller, str] = {
    "model": "same_passes",
    "copy": "same_by_copy",
    "base": "same_by_base",
}

EXACT = (torch.float32, torch.float64)
"""Dtypes in which an update shows in the outputs at once."""


class ReferencePasses(Probe):
    """Count the passes of a due step that repeat its training pass."""

    light = False
    columns: ClassVar[Sequence[Column]] = (
        Column("policy_passes", "1", "Passes with a graph, as far as compared."),
        Column("same_passes", "1", "Passes of the model that repeat one of these."),
        Column("same_by_copy", "1", "Same, through a shallow copy of the model."),
        Column("same_by_base", "1", "Same, past the PeftModel around the model."),
        Column("outputs_moved", "1", "1 if outputs differ from the last such step's."),
    )

    def __init__(self, interval: int = 16) -> None:
        self._due = every(interval)
        self._samples: OutputSamples | None = None
        self._before: torch.Tensor | None = None
        self._called = self._compared = -1

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Begin with the first step, whose first pass may be the reference's."""
        self._samples = OutputSamples(subject.model)
        return [self]

    def remove(self) -> None:
        """Take the hooks off."""
        if self._samples is not None:
            self._samples.remove()
        self._samples = None

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Note that the model is called, and not from within a compiled function."""
        self._called = moment.step
        return ()

    def before_update(self, moment: Moment) -> Iterable[Reading]:
        """Compare the passes of this step."""
        seen, self._compared = self._samples, moment.step
        self.remove()
        if seen is None:
            return ()
        if seen.error is not None:
            raise seen.error
        samples = list(seen.samples)
        policy, others = _sorted(samples)
        if not policy:
            return ()
        last = policy[-1].values
        moved = last.new_ones((), dtype=torch.float32)
        if self._before is not None and self._before.shape == last.shape:
            moved = (self._before != last).any().float()
        self._before = last
        # What is one number everywhere is the same for every input.
        alive = torch.stack([(p.values != p.values.flatten()[0]).any() for p in policy])
        device = last.device
        flags = [alive.any().float(), moved]
        flags += [_is_repeated(each, policy).to(device) for each in others]
        callers = [each.caller for each in others]

        def finish(values: NDArray[np.float32]) -> Iterable[dict[str, float]]:
            if not values[0]:
                return
            found = {"policy_passes": float(len(policy)), "outputs_moved": values[1]}
            found |= dict.fromkeys(_COLUMNS.values(), 0.0)
            for caller, same in zip(callers, values[2:].tolist(), strict=True):
                found[_COLUMNS[caller]] += same
            yield {name: float(value) for name, value in found.items()}

        return (Reading(torch.stack([flag.to(device) for flag in flags]), finish),)

    def after_update(self, moment: Moment) -> Iterable[Reading]:
        """Get ready for the next step's first pass."""
        called = self._called == moment.step
        if called and self._due(moment.step + 1) and self._samples is None:
            self._samples = OutputSamples(moment.subject.model)
        return ()

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Drop the samples of a step in which no update was seen."""
        if self._samples is not None and self._compared != moment.step:
            self._samples.samples.clear()
        return {}


def _sorted(samples: Sequence[Sample]) -> tuple[list[Sample], list[Sample]]:
    """Tell the training passes from the others, at the part that ran last in them."""
    trained = [each for each in samples if each.graph and each.caller == "model"]
    if not trained:
        return [], []
    path = trained[-1].path
    policy = [each for each in trained if each.path == path]
    # A second pass with a graph may repeat the first one as well.
    others = [e for e in samples if e.path == path and e is not policy[0]]
    return policy, [e for e in others if e.caller != "model" or _is_certain(e)]


def _is_certain(sample: Sample) -> bool:
    """Tell whether equal outputs mean equal weights.

    In 16 bits the outputs of other weights are equal too, for small updates. Where
    there are PEFT's layers, their state tells.
    """
    return sample.state is not None or sample.dtype in EXACT


def _is_repeated(sample: Sample, policy: Sequence[Sample]) -> torch.Tensor:
    same = [
        (sample.values == each.values).all()
        for each in policy
        if each is not sample and _is_like(sample, each)
    ]
    return torch.stack(same).any().float() if same else torch.zeros(())


def _is_like(one: Sample, two: Sample) -> bool:
    return (one.shape, one.dtype, one.state) == (two.shape, two.dtype, two.state)
