"""Hears what is done to the watched model's adapters, and lets the probes look.

Who calls whom: the tap (`ftlab.probes.taps.peft`) tells of operations on any model;
those on the watched one go into the ledger. Probes that compare weights are called not
at once but before the next operation of the loop: by then a merge that goes layer by
layer is over. Unloading is over when it returns, and ``model = model.unload()`` deletes
the watched model with its last name: then they are called at once.
"""

from typing import Any

import torch

from ftlab.probes.adapter.idle_combination import IdleCombination
from ftlab.probes.files.saving_work import SavingWork
from ftlab.probes.stepping.steps import Steps
from ftlab.probes.taps.forward import innermost
from ftlab.probes.taps.peft import OPERATIONS

TARGET = "adapters"


class AdapterWork(SavingWork):
    """What a loop hears of adapters; a part of `ftlab.probes.stepping.loop.Loop`."""

    _steps: Steps

    def __init__(self) -> None:
        super().__init__()
        self._done: set[str] = set()
        self._heard = True
        self.combination = IdleCombination()

    def before_layer_merge(self, layer: Any, op: str) -> None:
        """Let probes see a layer's weight as it is before it changes."""
        self._tell_of(layer, op, "before")

    def after_layer_merge(self, layer: Any, op: str) -> None:
        """Let probes see what has become of the layer's weight."""
        self._tell_of(layer, op, "after")

    def after_adapter_call(self, owner: Any, method: str, adapters: str) -> None:
        """Write an operation on the watched model's adapters into the ledger."""
        self.combination.used(adapters.split(","))  # of a copy of the model, too
        if not self._concerns(owner):
            return
        if method == "add_weighted_adapter":
            self.combination.made(adapters)
        op = OPERATIONS.get(method, method)
        detail = {"call": method} | ({"adapters": adapters} if adapters else {})
        self._steps.now.ledger.add(op, TARGET, **detail)
        self._done.add(op)
        self._heard = True
        if op in ("unload", "add_adapter", "load_adapter", "delete_adapter"):
            self._steps.adapters.forget()
        if op == "unload":
            self.settle()

    def weights_updated(self) -> None:
        """Take a combination for an aside of a training that goes on."""
        super().weights_updated()
        self.combination.forget()

    def after_state_dict(self, owner: Any, state: Any) -> None:
        """Take a combination for used: it is in every state dict."""
        super().after_state_dict(owner, state)
        self.combination.forget()

    def after_write(self, content: Any, file: Any) -> None:
        """Take a combination for used: it may have been written."""
        super().after_write(content, file)
        self.combination.forget()

    def end_of_files(self) -> None:
        """Write into the ledger which combination nothing has used."""
        super().end_of_files()
        if detail := self.combination.facts():
            self._steps.now.ledger.add("unused", TARGET, **detail)

    def note(self, op: str, target: str, **detail: Any) -> dict[str, Any]:
        """Write an operation into the ledger, with the state of the adapter layers.

        In light steps they are read again only where PEFT was heard to change them.
        """
        self.settle()
        again = self._heard or (op == "forward" and self._steps.full)
        detail |= self._steps.adapters.state(again=again)
        self._heard = False
        if op == "forward" and self.combination.name:
            self.combination.ran(self._steps.adapters.running())
        return self._steps.now.ledger.add(op, target, **detail)

    def settle(self) -> None:
        """Let probes look at the weights if adapters were worked on since."""
        if self._done:
            done, self._done = self._done, set()
            if self._steps.subject.gone:
                return
            # A method that was bound before watching began is not heard itself.
            if "merge" in done and self._steps.adapters.lost():
                done.add("unload")
            self._steps.tell("on_adapters", frozenset(done))

    def _tell_of(self, layer: Any, op: str, when: str) -> None:
        adapters = self._steps.adapters
        if not adapters.holds(layer):
            return
        self._steps.tell("on_merge", layer, adapters.path_of(layer), f"{when} {op}")
        if when == "after":
            self._done.add(op)
            self._heard = True

    def _concerns(self, owner: Any) -> bool:
        """Tell whether ``owner`` is, holds or belongs to the watched model."""
        if self._steps.adapters.holds(owner):
            return True
        if not isinstance(owner, torch.nn.Module):
            return False
        mine = innermost(self._steps.subject.model)
        return any(each is mine for each in owner.modules()) or any(
            each is owner for each in mine.modules()
        )
