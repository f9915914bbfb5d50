"""What a watch has found odd about the batches of a run, for the rules about data."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ftlab.records.batch_facts import Oddity, OddKind, SeenBatches
from ftlab.rules.reading.samples import row_name
from ftlab.rules.rule import Need, Place, Run

NEEDS = Need(
    "what the batches hold",
    "ftlab.watch(...) before the first forward",
    lambda run: any(event.kind == "batch" for event in run.whole.events),
)


@dataclass(frozen=True, slots=True)
class OddBatch:
    """An odd thing, and whether the step that it was for was ever made."""

    step: int
    odd: Oddity
    made: bool

    @property
    def batch(self) -> str:
        """The micro-batch, in words."""
        micro = self.odd.micro_batch
        return f"step {self.step}" + (f", micro-batch {micro}" if micro else "")

    @property
    def sample(self) -> str:
        """The row, as places name it."""
        return row_name(self.odd.micro_batch, self.odd.row)

    @property
    def places(self) -> tuple[Place, ...]:
        """The token and its sample, as far as they are known."""
        token = Place("token", f"{self.odd.position} of sample {self.sample}")
        sample = Place("sample", self.sample)
        return (token, sample) if self.odd.position >= 0 else (sample,)


def odd_batches(run: Run, kind: OddKind) -> list[OddBatch]:
    """Return what is odd in this way, in the order in which it came."""
    whole = run.whole
    steps = frozenset(whole.steps.step.tolist())
    seen = [
        SeenBatches.from_json(event.detail)
        for event in whole.events
        if event.kind == "batch"
    ]
    return [
        OddBatch(each.step, odd, each.step in steps)
        for each in seen
        for odd in each.oddities
        if odd.kind == kind
    ]


def refused_batches(run: Run, kind: OddKind) -> list[OddBatch]:
    """Return what ended the run; nothing where the model took the like of it."""
    found = odd_batches(run, kind)
    return [] if any(each.made for each in found) else found


def failed_steps(run: Run, found: Sequence[OddBatch]) -> list[OddBatch]:
    """Return those whose step was never made, or has a loss that is no number."""
    table = run.whole.steps
    bad = ~(np.isfinite(table["loss"]) | ~table.known("loss"))
    bad |= ~(np.isfinite(table["grad_norm"]) | ~table.known("grad_norm"))
    sick = frozenset(table.step[bad].tolist())
    return [each for each in found if not each.made or each.step in sick]
