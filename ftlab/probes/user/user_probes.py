"""Calls the functions that users have put at points of training.

Who calls whom: the hooks of `ftlab.probes.user.user_hooks` and the recorder's own
moments show tensors; the functions that are meant run on a look at them
(`ftlab.probes.user.harmless`); what they return waits on the device until
`UserProbes.on_gradients` or a later moment hands it over. A function that fails or
writes is taken off with one warning, and the others stay.
"""

import itertools
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import torch

from ftlab.probes.inventory import Spot
from ftlab.probes.probe import Moment, Probe, Reading, Tensors
from ftlab.probes.subject import Subject
from ftlab.probes.taps.forward import tap_forward
from ftlab.probes.user.harmless import harmlessly
from ftlab.probes.user.points import (
    count_places,
    modules_at,
    nothing_there,
    parameters_at,
)
from ftlab.probes.user.user_hooks import PointHooks
from ftlab.probes.user.user_probe import UserProbe, numbers_of
from ftlab.probes.user.user_values import (
    COLUMNS,
    LIMIT,
    TABLE,
    Place,
    Seen,
    readings_of,
)
from ftlab.probes.watched import WALK_INTERVAL
from ftlab.records.errors import FtlabWarning, UnknownNameError
from ftlab.records.handle import CallbackHandle, Handle, HandleStack
from ftlab.records.step import Column


class UserProbes(Probe):
    """All functions of one watch; they stay when another training begins.

    Attributes
    ----------
    probes
        Those that were added and not removed, in the order they were added in.
    """

    name: ClassVar[str] = "user"
    table: ClassVar[str] = TABLE
    columns: ClassVar[Sequence[Column]] = COLUMNS

    def __init__(self) -> None:
        self.probes: tuple[UserProbe, ...] = ()
        self.schedule = lambda _: bool(self.probes)
        self._order = itertools.count()
        self._subject: Subject | None = None
        self._handles = HandleStack()
        self._hooks = PointHooks(self._wanted, self._show, self._failed)
        self._stale, self._walked, self._busy, self._tapped = True, -1, False, False
        self._spots: list[tuple[Spot, str]] = []
        self._at: dict[tuple[str, str], list[UserProbe]] = {}
        self._meant: tuple[Tensors, dict[UserProbe, list[int]]] | None = None
        self._seen: list[Seen] = []

    def add(self, probe: UserProbe) -> None:
        """Put a function at its point, from the next forward on.

        Raises
        ------
        UnknownNameError
            The model that is being watched has nothing there.
        """
        subject = self._subject
        if subject is not None:
            check(probe, subject.model)
            self._tap(subject)
        probe.order = next(self._order)
        self.probes = (*self.probes, probe)
        self.change()

    def remove(self, probe: UserProbe) -> None:
        """Forget a function; what it has measured stays in the run."""
        self.probes = tuple(each for each in self.probes if each is not probe)
        self.change()

    def change(self) -> None:
        """Look anew at what is enabled, and in which order."""
        self._stale = True

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Put all functions at their points; one that finds nothing there is named."""
        self._subject, self._seen, self._meant, self._walked = subject, [], None, -1
        self._stale, self._tapped = True, False
        for probe in self.probes:
            try:
                check(probe, subject.model)
            except UnknownNameError as error:
                warnings.warn(f"{error}", FtlabWarning, stacklevel=2)
        if self.probes:
            self._tap(subject)
        return [CallbackHandle(self._let_go), self._handles, self._hooks]

    # --- the moments of the step

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Show the inputs of a forward."""
        tensors = {k: v for k, v in inputs.items() if isinstance(v, torch.Tensor)}
        self._keep(self._show_all("batch", tensors))
        return ()

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Show gradients in true scale; hand over what was seen in the step so far."""
        self._hooks.remove()
        if moment.step >= self._walked + WALK_INTERVAL:
            self._stale, self._walked = True, moment.step
        seen = list(self._seen)
        for probe, indices in self._parameters(moment.tensors):
            for name, gradient in _true_gradients(moment, indices).items():
                if probe.enabled:
                    place = Place(f"{name}.grad", "param")
                    seen += self._run(probe, place, gradient, [gradient])
        if self._due("gradients"):
            everything = range(len(moment.tensors.names))
            seen += self._show_all("gradients", _true_gradients(moment, everything))
        return readings_of(moment, seen)

    def before_update(self, moment: Moment) -> Iterable[Reading]:
        """Show the weights before the first optimizer changes them."""
        return self._show_weights("update.pre", moment)

    def after_update(self, moment: Moment) -> Iterable[Reading]:
        """Show the weights after an optimizer changed them."""
        return self._show_weights("update.post", moment)

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Let go of what was handed over."""
        self._seen = []
        return {}

    def _show_weights(self, name: str, moment: Moment) -> list[Reading]:
        if not self._due(name):
            return []
        tensors = moment.tensors
        weights = dict(zip(tensors.names, tensors.parameters, strict=True))
        return readings_of(moment, self._show_all(name, weights))

    # --- calling functions

    def _show(self, end: str, path: str, tensor: torch.Tensor) -> None:
        """Show a tensor of a module; a module that a function itself runs is not."""
        if self._busy:
            return
        place = Place(f"{path}.{end}", "module")
        for probe in self._at.get((end, path), ()):
            if probe.enabled:
                look = tensor.detach()
                self._keep(self._run(probe, place, look, [look]))

    def _show_all(self, name: str, tensors: Mapping[str, torch.Tensor]) -> list[Seen]:
        seen: list[Seen] = []
        for probe in self._due(name):
            looks = {key: each.detach() for key, each in tensors.items()}
            seen += self._run(probe, Place(name, "run"), looks, list(looks.values()))
        return seen

    def _run(
        self, probe: UserProbe, place: Place, what: Any, looked: Sequence[torch.Tensor]
    ) -> list[Seen]:
        self._busy = True
        try:
            numbers = numbers_of(harmlessly(probe.function, what, looked))
        except Exception as error:  # noqa: BLE001  one warning, and training goes on
            self._take_off(probe, place, error)
            return []
        finally:
            self._busy = False
        return [Seen(probe, place, key, value) for key, value in numbers.items()]

    def _keep(self, seen: Sequence[Seen]) -> None:
        if len(self._seen) < LIMIT:
            self._seen += seen

    def _take_off(self, probe: UserProbe, place: Place, error: Exception) -> None:
        probe.enabled, probe.error = False, f"{type(error).__name__}: {error}"
        self.change()
        msg = (
            f"The probe {probe.name!r} at {place.name!r} was taken off: {probe.error}. "
            "Training and everything else go on."
        )
        warnings.warn(msg, FtlabWarning, stacklevel=2)

    def _failed(self, error: Exception) -> None:
        """Give up: our own code failed, not a function."""
        for probe in self.probes:
            probe.enabled, probe.error = False, "an error of ftlab"
        msg = (
            f"Probes at points were taken off, by an error of ftlab: "
            f"{type(error).__name__}: {error}. Training and everything else go on."
        )
        warnings.warn(msg, FtlabWarning, stacklevel=2)

    # --- who is meant

    def _due(self, name: str) -> list[UserProbe]:
        return [probe for probe in _in_order(self.probes) if probe.point.kind == name]

    def _wanted(self) -> list[tuple[Spot, str]]:
        """List the modules and ends that enabled functions are put at."""
        if self._stale and self._subject is not None:
            self._stale = False
            self._at, spots = {}, {}
            for probe in _in_order(self.probes):
                for spot in modules_at(probe.point, self._subject.model):
                    key = probe.point.kind, spot.path
                    spots[key] = (spot, probe.point.kind)
                    self._at.setdefault(key, []).append(probe)
            self._spots = list(spots.values())
        return self._spots

    def _parameters(self, tensors: Tensors) -> list[tuple[UserProbe, list[int]]]:
        """List for each function the parameters whose gradients it shall see."""
        if self._meant is None or self._meant[0] is not tensors:
            self._meant = tensors, {}
        known = self._meant[1]
        meant = [each for each in _in_order(self.probes) if each.of_parameters]
        for probe in meant:
            if probe not in known:
                names = set(parameters_at(probe.point, tensors.names))
                known[probe] = [i for i, n in enumerate(tensors.names) if n in names]
        return [(probe, known[probe]) for probe in meant]

    def _tap(self, subject: Subject) -> None:
        if not self._tapped:
            self._tapped = True
            listener: Any = self._hooks
            self._handles.add(tap_forward(listener, subject.model))

    def _let_go(self) -> None:
        self._subject, self._seen, self._meant = None, [], None
        self._spots, self._at = [], {}


def check(probe: UserProbe, model: torch.nn.Module) -> None:
    """Count the places that a point means in ``model``.

    Raises
    ------
    UnknownNameError
        There is none; the message names near ones.
    """
    probe.places, probe.of_parameters = count_places(probe.point, model)
    if not probe.places:
        raise nothing_there(probe.point, model)


def _in_order(probes: Iterable[UserProbe]) -> list[UserProbe]:
    enabled = [probe for probe in probes if probe.enabled]
    return sorted(enabled, key=lambda probe: (probe.priority, probe.order))


def _true_gradients(moment: Moment, indices: Iterable[int]) -> dict[str, torch.Tensor]:
    """Return some gradients by name, a scaler's factor divided out; those there are."""
    names, inverse, found = moment.tensors.names, moment.inverse_scale, {}
    for index in indices:
        gradient = moment.tensors.parameters[index].grad
        if gradient is None:
            continue
        look = gradient.detach()
        if isinstance(inverse, torch.Tensor):
            look = look.float() * (inverse[index] if inverse.dim() else inverse)
        elif inverse != 1.0:
            look = look.float() * inverse
        found[names[index]] = look
    return found
