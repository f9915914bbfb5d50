"""Writes a snapshot: all that makes a step run again in another process.

Who calls whom: `Debugger.snapshot` calls `write_snapshot` at a stop, with the capsules
that hold the start of the step, and of the optimizer's step where the stop is within
it. `ftlab.replay.snapshots.load` reads it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch

from ftlab.records.errors import BadValueError, NotReplayableError
from ftlab.replay.capsules.capsule import Capsule, Start
from ftlab.replay.capsules.inputs import named_tensors
from ftlab.replay.capsules.rng import RngState
from ftlab.replay.capsules.update_capsule import UpdateCapsule
from ftlab.replay.snapshots.codec import Packer
from ftlab.replay.snapshots.folder import SECTIONS, refuse_existing, write_folder
from ftlab.replay.snapshots.optimizer import Names, pack_optimizer, pack_scaler
from ftlab.replay.snapshots.report import pack_report
from ftlab.replay.snapshots.weights import named, pack_weights
from ftlab.replay.stops.report import PauseReport
from ftlab.replay.stops.spans import Decode
from ftlab.replay.stops.stop import Stop
from ftlab.replay.tracing.modules import clean_name

Weights = Literal["trainable", "all"]
_IDS = ("input_ids", "decoder_input_ids", "labels", "tokens")


@dataclass(frozen=True, slots=True)
class Moment:
    """What is under way while a run is paused.

    Attributes
    ----------
    model
        What is trained.
    call
        The start of the step; ``None`` between two calls.
    update
        The start of the optimizer's step that is under way, if one is.
    optimizers
        Those that are known.
    decode
        Turns token ids into text, where a tokenizer is known.
    owner
        The trainer that calls the step, if one does.
    """

    model: torch.nn.Module
    call: Capsule | None
    update: UpdateCapsule | None
    optimizers: tuple[torch.optim.Optimizer, ...]
    decode: Decode | None
    owner: Any = None


def write_snapshot(
    path: Path, stop: Stop, moment: Moment, *, weights: str = "trainable"
) -> None:
    """Write the state at the start of the step that ``stop`` is in.

    Raises
    ------
    BadValueError
        When the batch holds what no file can, or ``weights`` is no choice.
    NotReplayableError
        When that state is gone.
    RunFolderError
        When ``path`` exists or cannot be written.
    """
    if weights not in ("trainable", "all"):
        msg = f"weights={weights!r}: allowed are 'trainable' and 'all'."
        raise BadValueError(msg)
    refuse_existing(path)
    _refuse_what_is_gone(stop.report, moment)
    writing = _Writing(stop, moment)
    manifest = writing.manifest(everything=weights == "all")
    write_folder(path, manifest, writing.files())


def _refuse_what_is_gone(report: PauseReport, moment: Moment) -> None:
    obstacle = None
    if not report.replayable:
        obstacle = " ".join(report.notes) or "the weights have changed already"
    elif moment.call is None and moment.update is None:
        obstacle = "the stop is in no step"
    elif moment.call is not None and moment.update is None:
        obstacle = moment.call.obstacle()
    if obstacle is not None:
        msg = (
            "The start of this step is no longer kept, so no snapshot can be taken: "
            f"{obstacle} Take it at a stop before the weights change."
        )
        raise NotReplayableError(msg)


class _Writing:
    """One snapshot in the making: a packer for each section."""

    def __init__(self, stop: Stop, moment: Moment) -> None:
        self._stop = stop
        self._moment = moment
        self._start = None if moment.call is None else moment.call.start
        self._packers = {
            name: Packer(moment.model, self._value_of) for name in SECTIONS
        }
        names = [(p, names[0]) for names, p in named(moment.model)]
        self._names: Names = {id(p): name for p, name in names}

    def manifest(self, *, everything: bool) -> dict[str, Any]:
        stop, moment = self._stop, self._moment
        tensor = stop.tensor
        return {
            "versions": {"torch": torch.__version__},
            "model": {"class": type(moment.model).__name__, "peft": self._peft()},
            "report": pack_report(stop.report),
            "tensor": self._pack("stop", tensor, "tensor"),
            "tokens": _tokens(stop.batch, moment.decode),
            "weights": pack_weights(
                moment.model,
                self._packers["weights"],
                self._before(),
                everything=everything,
            ),
            "optimizers": self._optimizers(),
            "step": None if moment.call is None else self._step(moment.call),
            "update": None if moment.update is None else self._update(moment.update),
        }

    def files(self) -> dict[str, dict[str, torch.Tensor]]:
        return {name: packer.tensors for name, packer in self._packers.items()}

    def _pack(self, section: str, value: Any, place: str) -> Any:
        return self._packers[section].pack(value, place)

    def _value_of(self, tensor: torch.Tensor) -> torch.Tensor:
        for live, value in () if self._start is None else self._start.buffers:
            if live is tensor:
                return value
        call = self._moment.call
        return tensor.detach() if call is None else call.inputs.value_of(tensor)

    def _before(self) -> dict[int, torch.Tensor]:
        update = self._moment.update
        return {} if update is None else {id(p): value for p, value in update.weights}

    def _step(self, call: Capsule) -> dict[str, Any]:
        start = call.start
        arguments = (call.inputs.args, call.inputs.kwargs)
        return {
            "inputs": self._pack("batch", call.inputs.at_start(arguments), "inputs"),
            "batch": self._pack("batch", call.inputs.batch(), "batch"),
            "model_call": self._model_call(call),
            "rng": self._rng(start.rng, "step"),
            "generators": self._pack(
                "rng", [list(each) for each in start.generators], "generators"
            ),
            "gradients": self._gradients(start.gradients, "step"),
            "gradients_cleared": start.cleared,
            "grad_enabled": start.grad_enabled,
            "autocast": _autocast(start.autocast),
            "training": self._modes(start),
            "scalers": [pack_scaler(*each) for each in start.scalers],
        }

    def _model_call(self, call: Capsule) -> dict[str, Any]:
        calls = call.model_calls
        arguments = call.inputs.at_start((calls.args, calls.kwargs))
        try:
            inputs = self._pack("batch", arguments, "model")
        except BadValueError:  # what a step computes for its model may be anything
            inputs = None
        autocast = _autocast(calls.autocast)
        return {"count": calls.count, "inputs": inputs, "autocast": autocast}

    def _update(self, update: UpdateCapsule) -> dict[str, Any]:
        return {
            "optimizer": self._moment.optimizers.index(update.optimizer),
            "rng": self._rng(update.rng, "update"),
            "gradients": self._gradients(update.gradients, "update"),
        }

    def _rng(self, rng: RngState, place: str) -> Any:
        return {
            "python": self._pack("rng", rng.python, f"{place}.python"),
            "numpy": self._pack("rng", rng.numpy, f"{place}.numpy"),
            "cpu": self._pack("rng", rng.cpu, f"{place}.cpu"),
            "devices": self._pack("rng", list(rng.devices), f"{place}.devices"),
        }

    def _gradients(
        self, gradients: Iterable[tuple[torch.nn.Parameter, torch.Tensor]], place: str
    ) -> dict[str, Any]:
        found = [(self._names.get(id(p)), value) for p, value in gradients]
        return {
            name: self._pack("gradients", value, f"{place}.{name}")
            for name, value in found
            if name is not None
        }

    def _modes(self, start: Start) -> dict[str, bool]:
        modes = {id(module): mode for module, mode in start.training}
        return {
            clean_name(name): modes.get(id(module), module.training)
            for name, module in self._moment.model.named_modules()
        }

    def _optimizers(self) -> list[dict[str, Any]]:
        update = self._moment.update
        options = {} if self._start is None else dict(self._start.options)
        found = []
        for optimizer in self._moment.optimizers:
            groups = [_without_params(group) for group in optimizer.param_groups]
            groups, state = options.get(optimizer, groups), dict(optimizer.state)
            if update is not None and update.optimizer is optimizer:
                groups, state = update.groups, update.state
            packer = self._packers["optimizer"]
            found.append(pack_optimizer(optimizer, groups, state, self._names, packer))
        return found

    def _peft(self) -> dict[str, str]:
        """Return the configuration of each adapter as text, for a reader."""
        configs = getattr(self._moment.model, "peft_config", None)
        found = configs.items() if isinstance(configs, dict) else ()
        return {str(name): str(config) for name, config in found}


def _without_params(group: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in group.items() if name != "params"}


def _autocast(active: Iterable[tuple[str, torch.dtype]]) -> list[list[str]]:
    return [[device, str(dtype).removeprefix("torch.")] for device, dtype in active]


def _tokens(batch: Any, decode: Decode | None) -> dict[str, str]:
    """Return the text of every token id in ``batch``."""
    if decode is None:
        return {}
    found = [
        tensor
        for place, tensor in named_tensors(batch)
        if place.strip("'") in _IDS and not tensor.is_floating_point()
    ]
    ids = {each for tensor in found for each in tensor.unique().tolist() if each >= 0}
    return {str(each): _text(decode, each) for each in sorted(ids)}


def _text(decode: Callable[[list[int]], str], token: int) -> str:
    return str(decode([token]))
