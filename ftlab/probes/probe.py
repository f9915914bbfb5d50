"""The shape of a probe, and the moments at which the recorder calls it.

Who calls whom: the taps (`ftlab.probes.taps`) see an operation of the training loop
and tell the loop (`ftlab.probes.stepping.loop`), which calls the matching method of
each probe that is due. A probe queues work on the device and returns a `Reading`: a
float32 tensor that is still on the device. The recorder reads all of a step's tensors
back together when the next step begins and only then calls ``Reading.finish`` with
NumPy values, so no probe ever waits for the device. A probe that raises is detached
with one warning.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.schedule import Schedule, every_step
from ftlab.probes.subject import Subject
from ftlab.records.class_names import class_words
from ftlab.records.event import Event
from ftlab.records.handle import Handle
from ftlab.records.names import NameRecord
from ftlab.records.step import Block, Column

Result = Block | NameRecord | Event | dict[str, float]
"""What a finished reading gives: rows of a table, a name, an event, or values of the
step."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Float32 values on the device, and what makes records of them on the host.

    Attributes
    ----------
    values
        One-dimensional float32 tensor; one read-back per step serves all readings.
    finish
        Called later with the same values as a NumPy array.
    """

    values: torch.Tensor
    finish: Callable[[NDArray[np.float32]], Iterable[Result]]


@dataclass(frozen=True, slots=True)
class Tensors:
    """The trainable parameters at this moment, in a fixed order.

    Attributes
    ----------
    ids
        Their ids in the run, int32.
    names
        Their names, cleaned of wrapper prefixes.
    parameters
        The live parameters.
    """

    ids: NDArray[np.int32]
    names: tuple[str, ...]
    parameters: tuple[torch.nn.Parameter, ...]


@dataclass(frozen=True, slots=True)
class Moment:
    """What a probe may look at when it is called.

    Attributes
    ----------
    step
        The attempted optimizer step that is under way.
    tensors
        The watched parameters.
    inverse_scale
        Factor that turns the gradients as they are now into true scale. A tensor when
        only the device knows it: 0-dim, or with one factor for each of ``tensors`` when
        a scaler has unscaled one of several optimizers. Multiplying a vector of
        per-tensor values by it is right in every case.
    name
        Gives the id of a row of another table, and announces it the first time:
        ``moment.name("adapters", "layers.0.q_proj [default]", "adapter", meta)``.
    changed
        In `Probe.before_update`: the gradients were written to after `on_gradients`,
        and not by a clipping function or a scaler.
    full
        Whether the step is measured in full, or lightly to keep the budget.
    """

    step: int
    subject: Subject
    tensors: Tensors
    inverse_scale: float | torch.Tensor
    name: Callable[..., int]
    changed: bool = False
    full: bool = True


class Probe:
    """One measurement. Subclasses override the moments that they need.

    Attributes
    ----------
    name
        What it is known by: the class's name, unless it has another one.
    table, columns
        The block table that it fills and what it puts there; ``table`` is ``""`` for a
        probe that adds to the step's row.
    schedule
        At which steps it is called.
    rests
        Set while it has nothing to look at in steps: it is called again when the
        watched parameters are others.
    light
        Called in light steps, too. What takes turns (`every`) is not, nor what can wait
        for a full step, of which two follow each other; but for what comes seldom, such
        as evaluations, merges and saving, everybody is called.
    """

    name: ClassVar[str]
    table: ClassVar[str] = ""
    columns: ClassVar[Sequence[Column]] = ()
    schedule: Schedule = staticmethod(every_step)
    rests: bool = False
    light: ClassVar[bool] = True

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.name = vars(cls).get("name", class_words(cls, "_"))

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Put hooks on the live objects; every hook's handle is returned."""
        return ()

    def on_batch(self, moment: Moment, inputs: dict[str, Any]) -> Iterable[Reading]:
        """See the keyword inputs of a training forward; called once per micro-batch."""
        return ()

    def on_further_forward(
        self, moment: Moment, inputs: Mapping[str, Any]
    ) -> Iterable[Reading]:
        """See a forward with a graph that follows one without a backward between."""
        return ()

    def on_evaluation(self, moment: Moment) -> Iterable[Reading]:
        """See the first forward without a graph after an update."""
        return ()

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Measure the unclipped gradients; ``inverse_scale`` makes them true."""
        return ()

    def before_update(self, moment: Moment) -> Iterable[Reading]:
        """Look just before the weights change.

        Once for each step: with several optimizers, before the first of them.
        """
        return ()

    def after_update(self, moment: Moment) -> Iterable[Reading]:
        """Look just after the optimizer changed the weights.

        With several optimizers it is called after each, and the last reading counts.
        Not called where a scaler did not call the optimizer; a fused optimizer that
        skips by itself is seen like any other.
        """
        return ()

    def on_merge(
        self, moment: Moment, layer: Any, path: str, when: str
    ) -> Iterable[Reading]:
        """See one adapter layer ``"before merge"``, ``"after unmerge"`` and so on."""
        return ()

    def on_adapters(
        self, moment: Moment, operations: frozenset[str]
    ) -> Iterable[Reading]:
        """Look after adapters were worked on: before the loop's next operation.

        ``operations`` are what the ledger calls them; see
        `ftlab.probes.taps.peft.OPERATIONS`.
        """
        return ()

    def on_handover(self, moment: Moment) -> Iterable[Reading]:
        """Look at what the user has now: a whole model was saved, or watching ends."""
        return ()

    def on_save(self, moment: Moment, owner: Any, folder: Path) -> Iterable[Reading]:
        """See the watched model, or any tokenizer, after it was saved in a folder.

        A folder may be of any kind, and gone by now.
        """
        return ()

    def on_spoilt_loss(self, moment: Moment) -> Iterable[Reading]:
        """Look at a step that ends, and whose loss on the CPU is NaN or infinite."""
        return ()

    def on_unfinished(self, step: int) -> Iterable[Event]:
        """Tell what cannot wait for the end of a step, which may never come.

        Called when watching ends, and when somebody looks at the run: a batch that made
        the forward raise is known nowhere else. Must not touch the device, which may be
        unusable.
        """
        return ()

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Give host values for the step's row; must not touch the device."""
        return {}
