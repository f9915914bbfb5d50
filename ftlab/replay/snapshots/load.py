"""Puts what a snapshot holds into live objects, after a look at whether it fits."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from ftlab.records.errors import AttachError
from ftlab.replay.capsules.generators import KeptGenerators, own_generators
from ftlab.replay.capsules.rng import RngState
from ftlab.replay.snapshots.codec import Unpacker
from ftlab.replay.snapshots.folder import (
    MANIFEST,
    SECTIONS,
    damaged,
    read_manifest,
    read_tensors,
)
from ftlab.replay.snapshots.optimizer import (
    load_optimizer,
    load_scalers,
    match_optimizer,
    scalers_of,
)
from ftlab.replay.snapshots.weights import check_weights, load_weights, named
from ftlab.replay.tracing.modules import clean_name

_DAMAGE = (
    KeyError,
    TypeError,
    ValueError,
    IndexError,
    AttributeError,
    RuntimeError,
    RecursionError,
    OverflowError,
)
"""What reading a file that was tampered with, or cut, may end in."""


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what damage leads to into one error that names the file.

    Raises
    ------
    RunFolderError
        It names the manifest at ``path``.
    """
    try:
        yield
    except _DAMAGE as error:
        raise damaged(path / MANIFEST, error) from error


class Stored:
    """The files of one snapshot.

    Attributes
    ----------
    path
        The folder.
    manifest
        What its JSON file says.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest = read_manifest(path)
        self._tensors: dict[str, dict[str, torch.Tensor]] = {}

    def unpacker(self, section: str, model: torch.nn.Module | None = None) -> Unpacker:
        """Return what makes the values of a section; they are new each time."""
        if section not in self._tensors:
            self._tensors[section] = read_tensors(self.path, section)
        return Unpacker(self._tensors[section], model)

    def check(self) -> None:
        """Read every file, so that a damaged one is found at once."""
        for section in SECTIONS:
            self.unpacker(section)

    def start(self, *, update: bool) -> Mapping[str, Any]:
        """Return the start of the step, or that of the optimizer's step."""
        start = self.manifest["update" if update else "step"]
        return dict(start)


class Restorer:
    """Puts a model, and what trains it, where the run was.

    Parameters
    ----------
    stored
        The snapshot.
    model, step, optimizers
        The user's. ``step`` is searched for scalers and generators.
    update
        Restore the start of the optimizer's step, not that of the whole step.

    Raises
    ------
    AttachError
        When the model or an optimizer is not the one of the run.
    RunFolderError
        When a file is damaged.
    """

    def __init__(
        self,
        stored: Stored,
        model: torch.nn.Module,
        step: Callable[..., Any],
        optimizers: Sequence[torch.optim.Optimizer],
        *,
        update: bool,
    ) -> None:
        self._stored = stored
        self._model = model
        self._step = step
        self._update = update
        manifest = stored.manifest
        names = {id(p): all_names[0] for all_names, p in named(model)}
        with reading(stored.path):
            check_weights(manifest["weights"], model)
            entries = manifest["optimizers"]
            self._optimizers = [
                (match_optimizer(entries, optimizer, names), optimizer)
                for optimizer in optimizers
            ]
        self._names = names

    def restore(self) -> None:
        """Load everything; random generators last."""
        self.load()
        with reading(self._stored.path):
            self._rng(self._stored.start(update=self._update))

    def load(self) -> None:
        """Load everything but the states of random generators."""
        stored, model = self._stored, self._model
        with reading(stored.path):
            start = stored.start(update=self._update)
            unpacker = stored.unpacker("weights", model)
            load_weights(stored.manifest["weights"], unpacker, model)
            for entry, optimizer in self._optimizers:
                unpacker = stored.unpacker("optimizer", model)
                load_optimizer(entry, unpacker, optimizer, self._names)
            self._gradients(start)
            self._modes(stored.manifest["step"])
            load_scalers(start.get("scalers", ()), scalers_of(self._step))

    def _gradients(self, start: Mapping[str, Any]) -> None:
        unpacker = self._stored.unpacker("gradients", self._model)
        for names, parameter in named(self._model):
            packed = start["gradients"].get(names[0])
            parameter.grad = None if packed is None else unpacker.unpack(packed)

    def _modes(self, step: Mapping[str, Any] | None) -> None:
        modes = {} if step is None else step["training"]
        for name, module in self._model.named_modules():
            module.training = bool(modes.get(clean_name(name), module.training))

    def _rng(self, start: Mapping[str, Any]) -> None:
        unpacker = self._stored.unpacker("rng")
        states = unpacker.unpack(start.get("generators", []))
        KeptGenerators(own_generators(self._step)).put([(k, s) for k, s in states])
        packed = start["rng"]
        state = RngState.take()
        devices = unpacker.unpack(packed["devices"])
        RngState(
            python=unpacker.unpack(packed["python"]),
            numpy=unpacker.unpack(packed["numpy"]),
            cpu=unpacker.unpack(packed["cpu"]),
            devices=tuple(devices[: len(state.devices)]),
        ).restore()


def autocast_of(packed: Sequence[Sequence[str]]) -> contextlib.ExitStack:
    """Return what turns the autocast on that was on.

    Raises
    ------
    AttachError
        When this machine has no such device.
    """
    stack = contextlib.ExitStack()
    for device, dtype in packed:
        try:
            mode = torch.autocast(device, dtype=getattr(torch, dtype))
        except RuntimeError as error:
            msg = f"The run used autocast for {device!r}, but here: {error}"
            raise AttachError(msg) from error
        stack.enter_context(mode)
    return stack
