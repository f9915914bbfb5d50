"""The watched parameters: found anew when the model's trainable set changes.

Whether there are others now is looked for when torch reports a new parameter anywhere,
when an optimizer's groups change, and from time to time. Freezing is seen at the step
at which a gradient is missing, unfreezing within four steps.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch.nn.modules.module import register_module_parameter_registration_hook

from ftlab.probes.inventory import parameter_ids
from ftlab.probes.naming import (
    NamedParameter,
    Role,
    layers_of,
    named_parameters,
    roles_of,
)
from ftlab.probes.probe import Tensors
from ftlab.probes.rows import RowBook
from ftlab.probes.schedule import DENSE
from ftlab.probes.subject import Subject
from ftlab.probes.taps.forward import innermost
from ftlab.records.handle import Handle

FLAGS_INTERVAL = 4
"""Steps after which ``requires_grad`` is read even when no gradient went missing."""

WALK_INTERVAL = 16
"""Steps after which the modules are walked through even when nothing was reported."""

_NOTHING = Tensors(np.empty(0, np.int32), (), ())


class WatchedParameters:
    """The trainable parameters of the subject's model, named and numbered.

    Parameters
    ----------
    subject
        What is watched.
    book
        Gives the ids and announces names.

    Attributes
    ----------
    tensors
        The trainable ones, as probes get them.
    changes
        How often the set was found to be another one.
    """

    def __init__(self, subject: Subject, book: RowBook) -> None:
        self._subject = subject
        self._book = book
        self._all: list[torch.nn.Parameter] = []
        self._flags: list[bool] = []
        self._ids: list[int] = []
        self._groups: list[int] = []
        self._walked = -1
        self.changes = 0
        self._announced: dict[int, NamedParameter] = {}
        self._roles: dict[int, Role] = {}
        self.stale = True
        self.tensors = _NOTHING
        self.members: frozenset[int] = frozenset()
        self._everything: frozenset[int] = frozenset()

    def attach(self) -> Handle:
        """Hear of parameters that modules get, from torch's own hook."""
        return register_module_parameter_registration_hook(self._hear)

    def refresh(self, step: int, *, closely: bool = False) -> None:
        """Look whether the set has changed since it was last read; cheap when not.

        A look at who is frozen costs most, and is taken ``closely`` only, in the first
        steps, and from time to time.
        """
        groups = [
            len(group["params"])
            for optimizer in self._subject.optimizers
            for group in optimizer.param_groups
        ]
        if (
            self.stale
            or groups != self._groups
            or step >= self._walked + WALK_INTERVAL
            or (
                (closely or step < DENSE or step % FLAGS_INTERVAL == 0)
                and self._flags != [each.requires_grad for each in self._all]
            )
        ):
            self._walk(step, groups)

    def let_go(self) -> None:
        """Empty what probes were given: some keep it, to know it again."""
        object.__setattr__(self.tensors, "parameters", ())

    def is_mine(self, owner: torch.nn.Module) -> bool:
        """Tell whether a module is the model, or holds a parameter of it."""
        model = self._subject.model
        if owner is model or owner is innermost(model):
            return True
        return self.holds_any(list(owner.parameters()))

    def holds_any(self, parameters: Sequence[torch.Tensor]) -> bool:
        """Tell whether one of ``parameters`` is the model's, trainable or not."""
        if self.stale:
            self._everything |= {id(each) for each in self._subject.model.parameters()}
        return any(id(each) in self._everything for each in parameters)

    def _hear(self, module: torch.nn.Module, name: str, parameter: object) -> None:
        self.stale = True
        self._subject.registrations += 1

    def _walk(self, step: int, groups: list[int]) -> None:
        ids, self.stale, self._walked = parameter_ids(self._subject.model), False, step
        flags = [each.requires_grad for each in self._all]
        if (ids, flags, groups) == (self._ids, self._flags, self._groups):
            return
        self.changes += 1
        entries = named_parameters(self._subject.model)
        self._all = [entry.parameter for entry in entries]
        self._flags = [each.requires_grad for each in self._all]
        self._ids, self._groups = ids, groups
        self._everything = frozenset(map(id, self._all))
        self._announce(entries)

    def _announce(self, entries: list[NamedParameter]) -> None:
        model = self._subject.model
        group_of = self._group_index()
        roles = self._roles | roles_of(model)
        layers = layers_of([entry.name for entry in entries])
        trainable = [entry for entry in entries if entry.parameter.requires_grad]
        now = {id(entry.parameter): entry for entry in trainable}
        ids = []
        for entry in [*trainable, *self._gone(now)]:
            parameter = entry.parameter
            role = roles.get(id(parameter))
            meta: dict[str, str | int] = {
                "role": role.role if role else "weight",
                "adapter": role.adapter if role else "",
                "module": role.module if role else "",
                "group": group_of.get(id(parameter), -1),
                "aliases": ",".join(entry.aliases),
            }
            if parameter.is_meta:
                meta["offloaded"] = True
            row = self._book.name(
                "tensors",
                entry.name,
                "param",
                meta,
                layer=layers.get(entry.name, ""),
                shape=tuple(parameter.shape),
                dtype=str(parameter.dtype).removeprefix("torch."),
                trainable=id(parameter) in now,
            )
            ids.append(row)
        self._announced = now
        self._roles = {key: role for key, role in roles.items() if key in now}
        self.members = frozenset(now)
        self.tensors = Tensors(
            np.array(ids[: len(trainable)], np.int32),
            tuple(entry.name for entry in trainable),
            tuple(entry.parameter for entry in trainable),
        )

    def _gone(self, now: dict[int, NamedParameter]) -> list[NamedParameter]:
        """List what was announced as trainable and no longer is."""
        names = {entry.name for entry in now.values()}
        return [
            entry
            for key, entry in self._announced.items()
            if key not in now and entry.name not in names
        ]

    def _group_index(self) -> dict[int, int]:
        groups = [
            group
            for optimizer in self._subject.optimizers
            for group in optimizer.param_groups
        ]
        return {id(p): index for index, g in enumerate(groups) for p in g["params"]}
