"""The groups of all optimizers, in the order in which tensors count them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ftlab.runlog.run import Run

_DECOUPLED = ("adamw", "lion", "adafactor", "lamb", "muon")
"""Parts of the names of optimizers whose decay is no part of the gradient."""


@dataclass(frozen=True, slots=True)
class Group:
    """One parameter group.

    Attributes
    ----------
    optimizer, kind, module
        Index and class of the optimizer, and the module that the class is from.
    values
        What the facts hold of the group.
    """

    optimizer: int
    kind: str
    module: str
    values: Mapping[str, Any]

    def number(self, key: str) -> float:
        """Return a value of the group, 0 where it is not known."""
        value = self.values.get(key)
        return float(value) if isinstance(value, int | float) else 0.0

    @property
    def decay(self) -> float:
        """Weight decay."""
        return self.number("weight_decay")

    @property
    def is_penalty(self) -> bool:
        """Whether the decay is added to the gradient, and then divided by Adam."""
        told = self.values.get("decoupled_weight_decay")
        own = self.module.startswith("torch.optim")
        return own and self.kind in ("Adam", "NAdam", "RAdam") and not told

    @property
    def is_decoupled(self) -> bool:
        """Whether each update takes lr x weight decay of the weight."""
        told = self.values.get("decoupled_weight_decay")
        kind = self.kind.lower()
        return bool(told) or any(part in kind for part in _DECOUPLED)


def groups_of(run: Run) -> list[Group]:
    """List the groups; a tensor's ``group`` is a position in this list."""
    return list(_groups(run))


def _groups(run: Run) -> Iterator[Group]:
    for index, facts in enumerate(run.facts.optimizers):
        kind, module = str(facts.get("class", "")), str(facts.get("module", ""))
        for group in facts.get("groups", ()):
            yield Group(index, kind, module, group)


def group_at(groups: list[Group], index: int) -> Group | None:
    """Return the group of a tensor, ``None`` where it is in none."""
    return groups[index] if 0 <= index < len(groups) else None
