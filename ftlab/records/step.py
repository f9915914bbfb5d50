"""What is known of one attempted optimizer step."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Column:
    """The declaration of a measured column.

    Attributes
    ----------
    name
        Snake case, unique within its table.
    unit
        ``"1"`` for a pure number, ``"bytes"``, ``"s"``, ``"tokens"``, ...
    meaning
        One sentence for tables and tooltips.
    """

    name: str
    unit: str
    meaning: str


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One attempted optimizer step, skipped ones included.

    ``None`` means *not measured*; NaN means that the value itself is NaN.

    Attributes
    ----------
    step
        Counts attempted optimizer steps from 0; a resume goes on counting.
    time
        Unix time at which the step's update was over, in seconds.
    loss
        Sum over micro-batches of the tensor that backward was called on, loss scale
        divided out.
    lr
        Learning rate of each parameter group of all optimizers, in order.
    grad_norm
        Global L2 norm of the accumulated gradients in true scale, before clipping.
    clip_norm, clip_coefficient
        ``max_norm`` that was passed to clipping, and the factor that it applied (1 = no
        effect).
    loss_scale
        The GradScaler's scale during the step.
    skipped
        True when the scaler skipped the update.
    values
        What other probes add to the row: ``tokens``, ``padding``, ``rss``...
    """

    step: int
    time: float
    loss: float | None = None
    lr: tuple[float, ...] = ()
    grad_norm: float | None = None
    clip_norm: float | None = None
    clip_coefficient: float | None = None
    loss_scale: float | None = None
    skipped: bool = False
    micro_batches: int = 1
    trainer_step: int | None = None
    values: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Block:
    """Statistics of many named rows at one step: a slice of a block table.

    A column that was not measured at this step is absent from ``values``. Within a
    measured column NaN is the value itself, except where ``has_grad`` (table
    ``"tensors"``) is 0: that parameter's ``.grad`` was ``None``.

    Attributes
    ----------
    table
        ``"tensors"``, ``"adapters"``, ``"activations"``, ...
    ids
        Row identities, int32 of shape ``(n,)``; see `NameRecord`.
    values
        Float32 arrays of shape ``(n,)`` by column name.
    """

    table: str
    step: int
    ids: NDArray[np.int32]
    values: Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One operation of the training loop, in the order in which it happened.

    Attributes
    ----------
    index
        Position within the step, from 0.
    op
        One of ``forward``, ``backward``, ``zero_grad``, ``unscale``, ``clip``,
        ``step``, ``skip``, ``scheduler_step``, ``scaler_update``, ``save``, ``load``,
        ``write`` (a file of one's own); of adapters ``merge``, ``unmerge``,
        ``unload``, ``disable_adapters``, ``enable_adapters``, ``set_adapter``,
        ``add_adapter``, ``load_adapter``, ``delete_adapter``, and, when watching ends,
        ``unused``.
    target
        What it was called on: ``"optimizer 0"``, ``"scheduler 0"``, ``"model"``.
    detail
        Arguments and measurements: ``{"mode": "train"}``, ``{"max_norm": 1.0}``.
    """

    step: int
    index: int
    op: str
    target: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The metrics of one evaluation, after ``step`` optimizer steps."""

    step: int
    time: float
    metrics: Mapping[str, float]
