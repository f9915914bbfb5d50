"""What the calls of one step tell of parameters that got no gradient, as records.

Who calls whom: `ftlab.probes.graph.graph_flow` tells `StepCalls` of each call of a
module, and takes its readings when backward is over.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.graph.checkpoint_flags import FLAG, CheckpointFlags
from ftlab.probes.graph.flow_calls import Tensors
from ftlab.probes.graph.module_calls import ModuleCalls, Swapped, Unreached
from ftlab.probes.graph.none_returned import NoneReturned, Returned
from ftlab.probes.graph.stand_ins import StandIns, runs_forward_of
from ftlab.probes.graph.weight_use import WeightUse
from ftlab.probes.naming import clean_name
from ftlab.probes.probe import Moment, Reading
from ftlab.probes.subject import Subject
from ftlab.records.names import NameKind
from ftlab.records.step import Block

LOOKS = 4
"""Steps in which functions of the user's are looked at: experts come and go."""


@dataclass(slots=True)
class SecondLook:
    """What is looked at once more, a step after gradients did not arrive.

    Modules that were not called: whether others take their weight. And the functions
    of the user's: whether their backward returns ``None``.

    Attributes
    ----------
    suspects
        What the next step is to look at: by the module around that is called.
    looked_at, taken
        Those that were looked at, and whose weight another one takes.
    lost, returned
        Parameters that ever had no gradient, and those that a function left without.
    functions, looks
        Whether the next step is to look at functions, and how many have.
    """

    suspects: dict[str, frozenset[str]] = field(default_factory=dict)
    looked_at: set[str] = field(default_factory=set)
    taken: set[str] = field(default_factory=set)
    lost: frozenset[str] = frozenset()
    returned: dict[str, Returned] = field(default_factory=dict)
    functions: bool = False
    looks: int = 0

    @property
    def wanted(self) -> bool:
        """Whether the next step is to be followed."""
        return bool(self.suspects) or self.functions

    def hear(self, lost: Sequence[str], returned: Mapping[str, Returned]) -> None:
        """Keep what functions returned; look at them where more was lost than ever."""
        self.returned.update(returned)
        more = not self.lost.issuperset(lost) and self.looks < LOOKS
        self.functions, self.looks = more, self.looks + more
        self.lost |= frozenset(lost)

    def by_functions(self, lost: Iterable[str]) -> dict[Unreached, None]:
        """Give the modules whose parameters functions left without a gradient."""
        known = [(name, self.returned[name]) for name in lost if name in self.returned]
        return {
            Unreached(_owner(name), "none-returned", each.path): None
            for name, each in known
        }

    def function_of(self, path: str) -> str:
        """Name the function that left parameters of a module without a gradient."""
        found = (r.function for n, r in self.returned.items() if _owner(n) == path)
        return next(found, "")


class StepCalls:
    """Follows one step's calls of modules.

    Parameters
    ----------
    moment
        Knows the trainable parameters and the optimizers.
    modules
        All modules that have hooks, by path.
    second
        What an earlier step has left to be looked at; `readings` adds to it.
    """

    def __init__(
        self,
        moment: Moment,
        modules: Mapping[str, torch.nn.Module],
        second: SecondLook,
    ) -> None:
        self._modules = modules
        self._calls = ModuleCalls(modules)
        names, parameters = moment.tensors.names, moment.tensors.parameters
        pairs = list(zip(names, parameters, strict=True))
        self._swapped = Swapped(modules, pairs, _held(moment.subject))
        self._stand_ins = StandIns(modules, pairs)
        asked = (moment.subject.training.get("args") or {}).get(FLAG) is True
        self._flags = CheckpointFlags(modules, asked=asked)
        self._second = second
        self._use = WeightUse(second.suspects, modules)
        self._returned = NoneReturned(looking=second.functions)
        second.functions = False
        second.looked_at.update(*second.suspects.values())
        second.suspects = {}

    def began(self, path: str) -> None:
        """Hear that a module is called."""
        self._calls.began(path)
        self._swapped.see(path)
        self._stand_ins.see(path)
        self._flags.began(path)

    def ended(self, path: str, output: Any, made: Tensors, *, again: bool) -> None:
        """Hear what a module has put out; ``again``: within backward."""
        self._calls.ended(path, made)
        self._use.see(path, output)
        self._returned.see(path, output)
        if not again:
            self._flags.ended(path, made)

    def readings(
        self, moment: Moment, unreturned: Mapping[str, str]
    ) -> Iterator[Reading]:
        """Hand over what others stand in for, and why gradients did not arrive.

        ``unreturned`` are modules that ran in a hook, and whose hook it was.
        """
        kept = self._flags.without_effect(moment)
        if kept:
            rows = {path or "model": meta for path, meta in kept.items()}
            yield marked(moment, "kept", "module", rows)
        swapped = sorted(self._swapped.names)
        if swapped:
            yield marked(moment, "swapped", "param", {name: {} for name in swapped})
        names, parameters = moment.tensors.names, moment.tensors.parameters
        pairs = list(zip(names, parameters, strict=True))
        without = [(n, p) for n, p in pairs if p.grad is None and n not in swapped]
        lost = [name for name, _ in without]
        self._second.hear(lost, self._returned.take(without))
        if not lost:
            return
        reached = [n for n, p in pairs if p.grad is not None]
        known, new = self._by_stand_ins(lost)
        if new:
            yield marked(moment, "made_anew", "param", {name: {} for name in new})
        found = known | self._second.by_functions(lost)
        found |= {
            each: None
            for name, each in self._calls.explain(lost, reached)
            if name not in self._second.returned
            and not any(_holds(other.path, name) for other in known)
        }
        self._second.taken |= self._use.used
        self._second.suspects = self._worth_a_look(found)
        rows = {
            each.path or "model": self._described(each, unreturned) for each in found
        }
        if rows:
            yield marked(moment, "unreached", "module", rows)

    def _by_stand_ins(
        self, lost: Sequence[str]
    ) -> tuple[dict[Unreached, None], set[str]]:
        """Find what got the gradients in place of the lost ones."""
        copies, anew = self._stand_ins.copies(), self._stand_ins.made_anew()
        self._stand_ins.forget()
        found: dict[Unreached, None] = {}
        used = set()
        for name in lost:
            owner = _owner(name)
            if name in copies:
                found[Unreached(owner, "copied")] = None
            within = [each for each in anew if owner and _holds(owner, each)]
            if within and name not in anew:
                found[Unreached(owner, "made-anew", within[0])] = None
                used.update(within)
        return found, used

    def _described(
        self, found: Unreached, unreturned: Mapping[str, str]
    ) -> dict[str, str]:
        kind, to = found.kind, found.to
        if kind == "not-called" and found.path in self._second.taken:
            kind = "weight-taken"
        around = self._modules.get("" if to == "model" else to)
        if kind == "not-called" and to and runs_forward_of(around) is not None:
            kind = "other-forward"
        if kind == "unused" and found.path in unreturned:
            kind, to = "unreturned", unreturned[found.path]
        described = {
            "kind": kind,
            "to": clean_name(to),
            "class": type(self._modules.get(found.path)).__name__,
        }
        if kind == "none-returned":
            described["function"] = self._second.function_of(found.path)
        return described

    def _worth_a_look(self, found: Iterable[Unreached]) -> dict[str, frozenset[str]]:
        """Give modules whose weight another one may take, each of them once."""
        wanted: dict[str, frozenset[str]] = {}
        for each in found:
            around = "" if each.to == "model" else each.to
            new = each.path and each.path not in self._second.looked_at
            if each.kind == "not-called" and each.to and new:
                wanted[around] = wanted.get(around, frozenset()) | {each.path}
        return wanted


def _owner(name: str) -> str:
    """Return the path of the module that a parameter is in."""
    return name.rpartition(".")[0]


def _holds(path: str, name: str) -> bool:
    """Tell whether a parameter is within a module."""
    return not path or name.startswith(f"{path}.")


def marked(
    moment: Moment,
    table: str,
    kind: NameKind,
    rows: Mapping[str, Mapping[str, str]],
    column: str = "",
) -> Reading:
    """Give each name a row of ``table`` with 1 in its column, called like the table."""
    found = [moment.name(table, name, kind, meta) for name, meta in rows.items()]
    ids, step = np.array(found, np.int32), moment.step

    def finish(_: NDArray[np.float32]) -> Iterable[Block]:
        yield Block(table, step, ids, {column or table: np.ones(len(ids), np.float32)})

    return Reading(torch.zeros(1), finish)


def _held(subject: Subject) -> frozenset[int]:
    """Give the ``id`` of each tensor that an optimizer holds."""
    return frozenset(
        id(each)
        for optimizer in subject.optimizers
        for group in optimizer.param_groups
        for each in group["params"]
    )
