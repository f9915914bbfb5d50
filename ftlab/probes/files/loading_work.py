"""Hears weights and optimizer states being loaded, and what came of it.

A state dict holds no copies: one that was taken before the last update and is put back
changes nothing. Whether a dict is that old is told by its tensors, which are known from
the moment it was taken, and whether anything else has written to the weights since the
update by torch's count of writes.
"""

import contextlib
import os
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from ftlab.probes.files.adapter_file_facts import factors_off
from ftlab.probes.files.adapter_file_start import start_off
from ftlab.probes.files.adapter_folder import OUTDATED, adapter_folder
from ftlab.probes.files.held_states import HeldStates
from ftlab.probes.files.loaded_check import Given, compare_keys, given_to
from ftlab.probes.files.read_back import TARGET, ReadBack
from ftlab.probes.files.saved_keys import adapter_configs
from ftlab.probes.optimizer.optimizer_states import state_facts
from ftlab.probes.stepping.steps import Steps, Versions
from ftlab.probes.taps.forward import innermost
from ftlab.probes.taps.optimizer import unwrapped
from ftlab.probes.torch_private import versions

SETTINGS = "adapter settings"
"""Target of the entry about an adapter that does not act as its folder says."""

_SAMPLE = 8
"""Trainable tensors whose count of writes is looked at after each update."""


class LoadingWork:
    """What a loop hears of loading; a part of `ftlab.probes.stepping.loop.Loop`.

    Attributes
    ----------
    adapter_taken
        Whether a state dict with adapters in it was taken since the last update.
    """

    _steps: Steps

    def __init__(self) -> None:
        super().__init__()
        self.adapter_taken = False
        self._given: Given | None = None
        self._fresh = False
        self._taken: list[weakref.ref[torch.Tensor]] = []
        self._writes: Versions = []
        self._held = HeldStates()
        self._read_back = ReadBack()

    def weights_updated(self) -> None:
        """Forget state dicts that are old now; note how often weights were written."""
        self._taken.clear()
        self._held.weights_updated()
        self.adapter_taken = False
        self._writes = self._count_writes()

    def before_load(self, owner: Any, state: Any, adapter: str | None) -> None:
        """Compare what is given with what the model has."""
        self._given, self._fresh = None, False
        if self._is_mine(owner) and isinstance(state, Mapping):
            # Anything may be in a dict: then there is nothing to say of it.
            with contextlib.suppress(Exception):
                self._given = given_to(owner, state, adapter)
                self._fresh = self._is_fresh(state)  # loading is a write itself

    def after_load(self, owner: Any, state: Any, result: Any) -> None:
        """Write into the ledger how much of what was given the model has read."""
        given, self._given = self._given, None
        if given is None:
            return
        detail: dict[str, Any] = {"adapter": given.adapter, "keys": given.keys}
        detail |= {"aliased": given.aliased, "of": given.trainable}
        if given.aliased:
            detail["fresh"] = self._fresh
        if given.misshapen:
            detail["misshapen"] = given.misshapen
        with contextlib.suppress(Exception):
            detail |= compare_keys(given, result)
        self._steps.now.ledger.add("load", "model", **detail)

    def after_state_dict(self, owner: Any, state: Any) -> None:
        """Remember the tensors of a state dict as long as they are up to date."""
        if isinstance(state, Mapping) and self._is_mine(owner):
            values = [v for v in state.values() if isinstance(v, torch.Tensor)]
            self._taken = [weakref.ref(value) for value in values]
            self._held.taken(values)
            self.adapter_taken |= any(".lora_" in str(key) for key in state)

    def after_adapter_load(self, owner: Any, folder: Any, adapter: Any) -> None:
        """Write into the ledger where what was read is old, or settings are others.

        PEFT reads the settings of a new adapter, and not those of one that is there.
        """
        with contextlib.suppress(Exception):
            if own := self._read_back.read(Path(folder)):
                self._steps.now.ledger.add("read", TARGET, **own)
        if self._is_mine(owner) and isinstance(folder, str | os.PathLike):
            with contextlib.suppress(Exception):
                read, name = adapter_folder(Path(folder)), str(adapter)
                saved = read.config
                found: dict[str, Any] = {
                    "scaling": factors_off(saved, owner, name),
                    "start": start_off(saved, adapter_configs(owner).get(name)),
                    "outdated": OUTDATED in read.problems,
                }
                if found := {key: value for key, value in found.items() if value}:
                    detail = {"adapter": name, "folder": Path(folder).name} | found
                    self._steps.now.ledger.add("load", SETTINGS, **detail)

    def after_optimizer_load(self, optimizer: Any) -> None:
        """Write into the ledger how the loaded state fits its parameters."""
        known = self._steps.subject.optimizers
        places = [i for i, each in enumerate(known) if unwrapped(each) is optimizer]
        if places:
            detail: dict[str, Any] = {}
            with contextlib.suppress(Exception):
                detail |= state_facts(self._steps.subject.model, optimizer)
            self._steps.now.ledger.add("load", f"optimizer {places[0]}", **detail)

    def _is_fresh(self, state: Mapping[str, Any]) -> bool:
        """Tell whether the dict is no older than what the model holds now."""
        taken = {id(tensor) for each in self._taken if (tensor := each()) is not None}
        return (
            any(id(value) in taken for value in state.values())
            or self._writes != self._count_writes()
        )

    def _count_writes(self) -> Versions:
        return versions(self._steps.watched.tensors.parameters[:_SAMPLE])

    def _is_mine(self, owner: Any) -> bool:
        mine = innermost(self._steps.subject.model)
        return isinstance(owner, torch.nn.Module) and (
            owner is mine
            or any(each is owner for each in mine.modules())
            or any(each is mine for each in owner.modules())
        )
