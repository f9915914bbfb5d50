"""Probes of the user's own at named points: ``watch.probe(point, fn)``."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ftlab.probes.user.points import parse
from ftlab.probes.user.user_probe import UserProbe, name_of
from ftlab.probes.user.user_probes import UserProbes, check
from ftlab.probes.user.user_values import TABLE
from ftlab.records.errors import AttachError, BadValueError
from ftlab.rules.words import counted
from ftlab.runlog.run import Run

if TYPE_CHECKING:
    from pandas import DataFrame


class ProbeHandle:
    """A function at a point: turn it on and off, take it away, read what it returned.

    Made by `Probing.probe`.
    """

    def __init__(
        self, probe: UserProbe, probes: UserProbes, run: Callable[[], Run]
    ) -> None:
        self._probe = probe
        self._probes = probes
        self._run = run

    @property
    def name(self) -> str:
        """What its values are called in the run."""
        return self._probe.name

    @property
    def point(self) -> str:
        """Where it is put."""
        return self._probe.point.text

    @property
    def places(self) -> int | None:
        """Modules or parameters that the point means; ``None`` before training."""
        return self._probe.places

    @property
    def error(self) -> str:
        """Why it was taken off, or ``""``."""
        return self._probe.error

    @property
    def enabled(self) -> bool:
        """Whether it is called; a function that failed may be set to True again."""
        return self._probe.enabled

    @enabled.setter
    def enabled(self, value: bool) -> None:
        self._probe.enabled = bool(value)
        self._probe.error = "" if value else self._probe.error
        self._probes.change()

    @property
    def priority(self) -> float:
        """At one place lower ones run first; equal ones in the order of adding."""
        return self._probe.priority

    @priority.setter
    def priority(self, value: float) -> None:
        self._probe.priority = value
        self._probes.change()

    @property
    def state(self) -> str:
        """``"on"``, ``"off"``, ``"removed"``, or why it was taken off."""
        if self._probe not in self._probes.probes:
            return "removed"
        if self._probe.error:
            return f"taken off: {self._probe.error}"
        return "on" if self._probe.enabled else "off"

    @property
    def values(self) -> "DataFrame":
        """What it returned: steps x places, NaN where it was not called.

        Where it was called several times in a step (micro-batches) this is the mean;
        ``run.matrix("low", table="user")`` and ``"high"`` have the ends.
        """
        return values_of(self._run(), self.name)

    def remove(self) -> None:
        """Take it away; its values stay in the run. May be called more than once."""
        self._probes.remove(self._probe)

    def __repr__(self) -> str:
        return _line(self)


class ProbeList(Sequence[ProbeHandle]):
    """The probes of a watch in the order they run in; shows itself as text."""

    def __init__(self, handles: Sequence[ProbeHandle]) -> None:
        self._handles = sorted(handles, key=lambda each: each.priority)

    def __len__(self) -> int:
        return len(self._handles)

    def __getitem__(self, index: Any) -> Any:
        return self._handles[index]

    def __iter__(self) -> Iterator[ProbeHandle]:
        return iter(self._handles)

    def table(self) -> "DataFrame":
        """Return one row for each probe."""
        from pandas import DataFrame

        columns = ["name", "point", "places", "priority", "state"]
        rows = [
            (each.name, each.point, each.places, each.priority, each.state)
            for each in self
        ]
        return DataFrame(rows, columns=columns)

    def __repr__(self) -> str:
        if not self:
            return "No probes; watch.probe('layers.*.self_attn.post', fn) adds one."
        return "\n".join([counted(len(self), "probe"), *map(_line, self)])


class Probing:
    """Gives a watch its ``probe`` and ``probes``."""

    _points: UserProbes

    @property
    def run(self) -> Run:
        """The records of the current or latest run."""
        raise NotImplementedError

    def probe(
        self,
        point: str,
        fn: Callable[[Any], Any],
        priority: float = 0,
        *,
        name: str | None = None,
    ) -> ProbeHandle:
        """Call a function of your own at a point of training, and keep what it returns.

        It cannot change the training by accident: it gets a detached look, runs without
        a graph, and takes no random number from the run. When it raises, or tries to
        write to what it looks at or to a parameter, it is taken off with one warning,
        and training goes on.

        Parameters
        ----------
        point
            A pattern of module paths (``*`` stands for anything, the beginning of the
            path may be left out) and one of ``.pre`` (the inputs), ``.post`` (the
            outputs) and ``.grad`` (the gradient of the output, as backward has it:
            times the loss scale, where there is one). A pattern that no module matches
            may mean parameters: ``"*.lora_A.*.weight.grad"``, accumulated, before
            clipping, in true scale. Or a moment of the step: ``"batch"``,
            ``"gradients"``, ``"update.pre"``, ``"update.post"``.
        fn
            Gets a tensor: the first floating-point one, of several. At a moment of the
            step it gets a dict of them: the model's inputs, the gradients, the
            trainable weights, by name. It returns a number, a 0-dim tensor (read one
            step late, without waiting for the device; ``float(tensor)`` would wait), a
            dict of these, or ``None``. Kept as float32.
        priority
            At one place lower ones run first; equal ones in the order of adding.
        name
            What its values are called; the function's own name by default.

        Returns
        -------
        ProbeHandle
            With ``enabled``, ``priority``, ``values`` and ``remove()``.

        Raises
        ------
        UnknownNameError
            The point is none, or means nothing in the model; with near names.

        Notes
        -----
        Forwards with autograd on are seen, not evaluations; what a checkpoint computes
        again is not counted. Modules that are compiled are not seen, which a warning
        says. For a trainer that has not begun, the probe waits for ``train()``, and for
        each later one.

        Examples
        --------
        >>> import tempfile, torch, ftlab
        >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
        >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        >>> folder = tempfile.mkdtemp() + "/run"
        >>> with ftlab.watch(model, optimizer, run_dir=folder) as watch:
        ...     size = watch.probe("0.pre", lambda x: x.abs().max(), name="size")
        ...     for step in range(3):
        ...         model(torch.full((4, 2), step + 1.0)).mean().backward()
        ...         optimizer.step()
        >>> size.values
              0.pre
        step
        0       1.0
        1       2.0
        2       3.0
        """
        function: Any = fn
        if not callable(function):
            msg = f"fn={fn!r} is not callable; pass a function of a tensor."
            raise BadValueError(msg)
        taken = {each.name for each in self._points.probes}
        if name in taken:
            msg = (
                f"There is already a probe {name!r}; remove() it or use a different "
                "name."
            )
            raise BadValueError(msg)
        chosen = name or name_of(fn, taken)
        probe = UserProbe(parse(point), fn, chosen, priority)
        model = self._model_to_come()
        if model is not None:
            check(probe, model)
        self._points.add(probe)
        return self._handle(probe)

    @property
    def probes(self) -> ProbeList:
        """The probes at points, with their state."""
        return ProbeList(self._handles())

    def _handles(self) -> list[ProbeHandle]:
        return [self._handle(each) for each in self._points.probes]

    def _handle(self, probe: UserProbe) -> ProbeHandle:
        return ProbeHandle(probe, self._points, lambda: self.run)

    def _model_to_come(self) -> Any:
        """Return the model of a trainer that waits, or ``None``; refuse when closed."""
        raise NotImplementedError


def refuse_closed() -> AttachError:
    """Make the error for a watch that will see no more training."""
    msg = (
        "This watch has ended, so a probe would see nothing. Call ftlab.watch again, "
        "and probe() before you train."
    )
    return AttachError(msg)


def values_of(run: Run, name: str) -> "DataFrame":
    """Read what a probe returned out of a run, live or opened: steps x places."""
    from pandas import DataFrame, Index

    if TABLE not in run.tables():
        return DataFrame(index=Index([], name="step", dtype="int64"))
    matrix = run.matrix("value", table=TABLE)
    names = run.names(TABLE)
    mine = [i for i, row in enumerate(matrix.ids) if names[row].meta["probe"] == name]
    labels = [
        f"{meta['place']} {meta['key']}".rstrip()
        for meta in (names[matrix.ids[i]].meta for i in mine)
    ]
    steps = Index(matrix.steps, name="step")
    seen = np.flatnonzero(matrix.known[:, mine].any(axis=1))
    found = np.asarray(matrix.values)[seen][:, mine]
    return DataFrame(found, index=steps[seen], columns=labels)


def _line(handle: ProbeHandle) -> str:
    where = "not put on yet"
    if handle.places is not None:
        where = counted(handle.places, "place")
    words = [handle.name, handle.point, where, f"priority {handle.priority:g}"]
    return "  ".join([*words, handle.state])
