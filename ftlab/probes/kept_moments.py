"""Whether optimizers keep what they know from one update to the next.

An optimizer that is made anew for the same weights, or whose state is cleared, begins
with moments of 0 and a step count of 0. Looked at on the host, on a few parameters.
"""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import torch

from ftlab.probes.base_sample import spread
from ftlab.probes.emptied_moments import EmptiedMoments
from ftlab.probes.probe import Moment, Probe, Reading, Tensors

PARAMETERS = 8
"""Parameters that are looked at, spread over the model."""


class KeptMoments(Probe):
    """Count the steps at which an optimizer began again without the moments it had.

    ``moments_begun_anew`` are all of them so far, ``moments_cleared`` those of them at
    which it was the same optimizer as before. ``moments_emptied_at`` is the count of
    steps that empty moments went on with, ``moments_excess`` how many times too large
    updates become by that.
    """

    name: ClassVar[str] = "kept_moments"

    def __init__(self) -> None:
        self._tensors: Tensors | None = None
        self._optimizers = 0
        self._looked_at: list[tuple[torch.Tensor, Any]] = []
        self._known: dict[int, int] = {}
        self._empty: list[tuple[torch.Tensor, Any]] = []
        self._anew = self._cleared = 0
        self._emptied = EmptiedMoments()

    def before_update(self, moment: Moment) -> Iterable[Reading]:
        """See whose moments were there after the last update and are not any more."""
        self._choose(moment)
        self._empty = [
            (parameter, optimizer)
            for parameter, optimizer in self._looked_at
            if id(parameter) in self._known and not _has_moments(parameter, optimizer)
        ]
        self._emptied.before(self._looked_at)
        return ()

    def after_update(self, moment: Moment) -> Iterable[Reading]:
        """Count those that have new ones now: an idle optimizer has none."""
        begun = [
            self._known[id(parameter)] == id(optimizer)
            for parameter, optimizer in self._empty
            if _has_moments(parameter, optimizer)
        ]
        self._anew += bool(begun)
        self._cleared += bool(begun) and all(begun)
        self._empty = []
        for parameter, optimizer in self._looked_at:
            if _has_moments(parameter, optimizer):
                self._known[id(parameter)] = id(optimizer)
        return self._emptied.after(self._looked_at)

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Tell how often it has happened."""
        return {
            "moments_begun_anew": float(self._anew),
            "moments_cleared": float(self._cleared),
        }

    def _choose(self, moment: Moment) -> None:
        """Choose parameters, each with the last optimizer that holds it."""
        optimizers = moment.subject.optimizers
        same = moment.tensors is self._tensors and len(optimizers) == self._optimizers
        if same:
            return
        self._tensors, self._optimizers = moment.tensors, len(optimizers)
        holders = {
            id(parameter): optimizer
            for optimizer in optimizers
            for group in optimizer.param_groups
            for parameter in group["params"]
        }
        named = zip(moment.tensors.names, moment.tensors.parameters, strict=True)
        held = {name: each for name, each in named if id(each) in holders}
        chosen = [held[name] for name in spread(list(held), PARAMETERS)]
        self._looked_at = [(each, holders[id(each)]) for each in chosen]
        kept = {id(parameter) for parameter, _ in self._looked_at}
        self._known = {key: own for key, own in self._known.items() if key in kept}


def _has_moments(parameter: torch.Tensor, optimizer: Any) -> bool:
    # get, not []: the mapping would make an entry, and so change a checkpoint
    state: Mapping[str, Any] = optimizer.state.get(parameter) or {}
    return any(isinstance(value, torch.Tensor) for value in state.values())
