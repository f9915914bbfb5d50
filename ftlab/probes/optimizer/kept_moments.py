"""Whether optimizers keep what they know from one update to the next.

An optimizer that is made anew for the same weights, or whose state is cleared, begins
with moments of 0 and a step count of 0. Looked at on the host, on a few parameters.
"""

import weakref
from collections.abc import Iterable, Mapping
from typing import Any

import torch

from ftlab.probes.optimizer.emptied_moments import EmptiedMoments
from ftlab.probes.probe import Moment, Probe, Reading, Tensors
from ftlab.probes.tensors.base_sample import spread

PARAMETERS = 8
"""Parameters that are looked at, spread over the model; in light steps the first."""


class KeptMoments(Probe):
    """Count the steps at which an optimizer began again without the moments it had.

    ``moments_begun_anew`` are all of them so far, ``moments_cleared`` those of them at
    which it was the same optimizer as before. ``moments_emptied_at`` is the count of
    steps that empty moments went on with, ``moments_excess`` how many times too large
    updates become by that.
    """

    def __init__(self) -> None:
        self._tensors: Tensors | None = None
        self._optimizers: list[int] = []
        self._looked_at: list[tuple[weakref.ref[torch.Tensor], int]] = []
        self._known: dict[int, int] = {}
        self._empty: set[int] = set()
        self._anew = self._cleared = 0
        self._emptied = EmptiedMoments()

    def before_update(self, moment: Moment) -> Iterable[Reading]:
        """See whose moments were there after the last update and are not any more."""
        live = moment.subject.live_optimizers
        self._choose(moment, live)
        held = self._held(moment, live)
        self._empty = {
            id(parameter)
            for parameter, number in held
            if id(parameter) in self._known
            and not _has_moments(parameter, live[number])
        }
        self._emptied.before([(each, live[number]) for each, number in held])
        return ()

    def after_update(self, moment: Moment) -> Iterable[Reading]:
        """Count those that have new ones now: an idle optimizer has none."""
        live = moment.subject.live_optimizers
        held = self._held(moment, live)
        filled = [(p, n) for p, n in held if _has_moments(p, live[n])]
        begun = [self._known[id(p)] == n for p, n in filled if id(p) in self._empty]
        self._anew += bool(begun)
        self._cleared += bool(begun) and all(begun)
        self._empty = set()
        self._known |= {id(parameter): number for parameter, number in filled}
        return self._emptied.after([(each, live[number]) for each, number in held])

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Tell how often it has happened."""
        return {
            "moments_begun_anew": float(self._anew),
            "moments_cleared": float(self._cleared),
        }

    def _choose(self, moment: Moment, live: Mapping[int, Any]) -> None:
        """Choose parameters, each with the last optimizer that holds it."""
        if moment.tensors is self._tensors and list(live) == self._optimizers:
            return
        self._tensors, self._optimizers = moment.tensors, list(live)
        holders = {
            id(parameter): number
            for number, optimizer in live.items()
            for group in optimizer.param_groups
            for parameter in group["params"]
        }
        named = zip(moment.tensors.names, moment.tensors.parameters, strict=True)
        held = {name: each for name, each in named if id(each) in holders}
        chosen = [held[name] for name in spread(list(held), PARAMETERS)]
        self._looked_at = [(weakref.ref(each), holders[id(each)]) for each in chosen]
        kept = set(map(id, chosen))
        self._known = {key: own for key, own in self._known.items() if key in kept}

    def _held(
        self, moment: Moment, live: Mapping[int, Any]
    ) -> list[tuple[torch.Tensor, int]]:
        """Return what is looked at and still there, with its optimizer's number."""
        looked_at = self._looked_at if moment.full else self._looked_at[:1]
        pairs = [(reference(), number) for reference, number in looked_at]
        return [(each, n) for each, n in pairs if each is not None and n in live]


def _has_moments(parameter: torch.Tensor, optimizer: Any) -> bool:
    # get, not []: the mapping would make an entry, and so change a checkpoint
    state: Mapping[str, Any] = optimizer.state.get(parameter) or {}
    return any(isinstance(value, torch.Tensor) for value in state.values())
