"""What preflight has in hand when it judges."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ftlab.records.facts import Facts
from ftlab.records.finding import Finding
from ftlab.session.preflight.checkpoint_trial import CheckpointTrial
from ftlab.session.preflight.dry_run import DryRun
from ftlab.session.preflight.failing import Failure
from ftlab.session.preflight.given import Given
from ftlab.session.preflight.influence_trial import Influence


@dataclass(slots=True)
class Seen:
    """Live objects, the first batches and the dry run.

    Attributes
    ----------
    batches
        What was read; empty when nothing was handed over or `unread` says why not.
    unread
        Why no batch could be read, or what reading raised.
    optimizers, schedulers
        Those of the dry run; a trainer's are made for it.
    stood_in
        Whether the dry steps were made without an optimizer of the user's.
    steps
        Optimizer steps that the run will have; 0 where unknown.
    findings
        What the rules found to warn of, causes above what follows from them.
    eased
        The failure of steps that came through under autocast, if that was so.
    trial
        Gradients with and without checkpointing, where they were compared.
    influences
        What gets no gradient although the loss depends on it.
    """

    given: Given
    dry: DryRun
    batches: Sequence[Any] = ()
    unread: Exception | None = None
    optimizers: Sequence[Any] = ()
    schedulers: Sequence[Any] = ()
    stood_in: bool = False
    steps: int = 0
    findings: tuple[Finding, ...] = ()
    eased: Failure | None = None
    trial: CheckpointTrial | None = None
    influences: Sequence[Influence] = ()

    @property
    def codes(self) -> frozenset[str]:
        """The rules that found something to warn of."""
        return frozenset(each.code for each in self.findings)

    @property
    def model(self) -> torch.nn.Module:
        """The model."""
        return self.given.model

    @property
    def facts(self) -> Facts:
        """What was read of the live objects."""
        return self.dry.run.facts

    @property
    def batch(self) -> Mapping[str, Any]:
        """The first batch by name, tensors alone; empty where it has no names."""
        first = self.batches[0] if self.batches else {}
        if not isinstance(first, Mapping):
            return {}
        return {str(k): v for k, v in first.items() if isinstance(v, torch.Tensor)}
