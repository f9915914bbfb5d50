"""Samples of frozen weights: which weights, what they were, and what they are now."""

import itertools
import weakref
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.adapter.adapter_layers import AdapterLayer, adapter_layers
from ftlab.probes.naming import NamedParameter, named_parameters, roles_of
from ftlab.probes.tensors.weight_sample import host_sample, sample_key, sample_of
from ftlab.probes.torch_private import versions

IN_TURN = 16
"""Weights that are compared at a step at which nothing calls for more."""

MOST = 4096
"""Weights that are compared; of a model with more of them the first ones are."""


@dataclass(slots=True)
class Frozen:
    """One frozen weight, held weakly.

    Attributes
    ----------
    key
        What the sample was taken from; see
        `ftlab.probes.tensors.weight_sample.sample_key`.
    layer
        Path of the adapter layer that it stands in, ``""`` for none.
    tied
        Its other names, joined by commas.
    role
        ``"weight"``, or what it is for in an adapter.
    cycles
        How often its layer was unmerged since the sample was taken.
    latest
        Bits of a sample on the CPU, as they were at the last look.
    """

    name: str
    reference: "weakref.ref[torch.Tensor]"
    key: Hashable
    layer: str
    tied: str
    role: str = "weight"
    cycles: int = 0
    latest: NDArray[Any] | None = None

    def changed(self) -> bool:
        """Tell whether a sample on the CPU is another one than at the last call."""
        weight = self.reference()
        now = None if weight is None else host_sample(weight)
        before, self.latest = self.latest, now
        return not (now is None or before is None or np.array_equal(now, before))


@dataclass(slots=True)
class Group:
    """Weights whose samples have one size and device, and what the samples were."""

    weights: list[Frozen] = field(default_factory=list)
    samples: list[torch.Tensor] = field(default_factory=list)
    _stacked: torch.Tensor | None = None

    def add(self, weight: Frozen, sample: torch.Tensor) -> None:
        """Take one more."""
        self.weights.append(weight)
        self.samples.append(sample)
        self._stacked = None

    def keep(self, wanted: Callable[[Frozen], bool]) -> None:
        """Drop the weights that are not wanted."""
        if all(map(wanted, self.weights)):
            return
        pairs = zip(self.weights, self.samples, strict=True)
        kept = [pair for pair in pairs if wanted(pair[0])]
        self.weights = [weight for weight, _ in kept]
        self.samples = [sample for _, sample in kept]
        self._stacked = None

    def before(self, rows: Sequence[int]) -> torch.Tensor:
        """Return the samples of some of the weights, as rows."""
        if len(rows) < len(self.samples):
            return torch.stack([self.samples[row] for row in rows])
        if self._stacked is None:
            self._stacked = torch.stack(self.samples)
        return self._stacked

    def now(self, rows: Sequence[int]) -> torch.Tensor:
        """Sample some of the weights again, as rows."""
        alive = (self.weights[row].reference() for row in rows)
        return torch.stack([sample_of(each) for each in alive if each is not None])


class FrozenSamples:
    """The frozen weights of a model, each sampled when it was first seen frozen."""

    def __init__(self) -> None:
        self._groups: dict[Hashable, Group] = {}
        self._layers: list[AdapterLayer] = []
        self._written: list[tuple[int, int] | None] = []
        self._turn = 0

    def weights(self) -> Iterator[Frozen]:
        """Yield all of them."""
        groups = self._groups.values()
        return itertools.chain.from_iterable(group.weights for group in groups)

    def groups(self, model: torch.nn.Module) -> list[Group]:
        """Return what can be compared now: what moved, or was cast, is left out.

        Merging into 4 bits puts a new parameter in the place of the old one.
        """
        if any(each.reference() is None for each in self.weights()):
            self.look(model)
        for group in self._groups.values():
            group.keep(_same)
        return [group for group in self._groups.values() if group.weights]

    def merged(self) -> set[str]:
        """Return the paths of the layers that are merged now."""
        return {layer.path for layer in self._layers if layer.state()[1]}

    def written(self) -> bool:
        """Tell whether one was written to since the last call, as torch counts it."""
        now = versions([each.reference() for each in self.weights()])
        before, self._written = self._written, now
        return len(before) == len(now) and before != now

    def turned(self) -> bool:
        """Tell whether one of the `IN_TURN` weights whose turn it is has changed.

        Each is compared with what it was when its turn came last. Those that are not on
        the CPU, where a look makes nothing wait, have no turn.
        """
        weights = list(self.weights())
        start = self._turn if self._turn < len(weights) else 0
        self._turn = start + IN_TURN
        changes = [each.changed() for each in weights[start : self._turn]]
        return any(changes)

    def look(self, model: torch.nn.Module) -> None:
        """Drop the weights that went or are trained, and sample new frozen ones."""
        entries = _frozen_entries(model)
        roles = roles_of(model)
        known = set()
        for group in self._groups.values():
            group.keep(lambda each: _is_in(each, entries))
            known |= {each.name for each in group.weights}
        self._layers = list(adapter_layers(model))
        paths = {layer.path for layer in self._layers}
        for name in list(entries)[:MOST]:
            if name not in known:
                role = roles.get(id(entries[name].parameter))
                self._add(entries[name], paths, getattr(role, "role", "weight"))

    def clear(self) -> None:
        """Forget all samples."""
        self._groups.clear()

    def _add(self, entry: NamedParameter, layers: set[str], role: str) -> None:
        key = sample_key(entry.parameter)
        if key is None:
            return
        sample = sample_of(entry.parameter)
        group = self._groups.setdefault((sample.device, sample.numel()), Group())
        frozen = Frozen(
            entry.name,
            weakref.ref(entry.parameter),
            key,
            # What an adapter is made of is not merged into.
            layer_around((entry.name, *entry.aliases), layers)
            if role == "weight"
            else "",
            ",".join(entry.aliases),
            role,
            latest=host_sample(entry.parameter),
        )
        group.add(frozen, sample)


def layer_around(names: Sequence[str], layers: set[str]) -> str:
    """Return the adapter layer that one of a weight's names stands in.

    Examples
    --------
    >>> from ftlab.probes.frozen.frozen_samples import layer_around
    >>> layer_around(["model.q.base_layer.weight"], {"model.q", "model.v"})
    'model.q'
    """
    for name in names:
        path = name
        while path:
            path = path.rpartition(".")[0]
            if path in layers:
                return path
    return ""


def _frozen_entries(model: torch.nn.Module) -> dict[str, NamedParameter]:
    """Find what is frozen, the model's own weights first."""
    roles = roles_of(model)

    def is_own(entry: NamedParameter) -> bool:
        return getattr(roles.get(id(entry.parameter)), "role", "") == "weight"

    frozen = [e for e in named_parameters(model) if not e.parameter.requires_grad]
    frozen.sort(key=is_own, reverse=True)
    return {entry.name: entry for entry in frozen}


def _is_in(each: Frozen, entries: dict[str, NamedParameter]) -> bool:
    """Tell whether a weight is still there, maybe as another parameter."""
    entry = entries.get(each.name)
    if entry is None or sample_key(entry.parameter) != each.key:
        return False
    each.reference = weakref.ref(entry.parameter)
    return True


def _same(each: Frozen) -> bool:
    weight = each.reference()
    return weight is not None and sample_key(weight) == each.key
