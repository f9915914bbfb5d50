"""What is being watched: the model and the objects that train it.

Optimizers, schedulers and the scaler may appear after watching has begun; whoever sees
one first hands it over with ``adopt_*``. Parameters are looked up anew when the model's
set of trainable parameters changes.
"""

from dataclasses import dataclass, field
from typing import Any

import torch


@dataclass(slots=True)
class Subject:
    """The live objects of one run.

    Attributes
    ----------
    model
        The module that was passed to `ftlab.watch`.
    optimizers, schedulers, scaler
        What is known so far.
    tokenizer
        For padding and special token ids; may be ``None``.
    training
        Facts of the trainer, merged into `ftlab.records.facts.Facts.training`.
    """

    model: torch.nn.Module
    optimizers: list[torch.optim.Optimizer] = field(default_factory=list)
    schedulers: list[Any] = field(default_factory=list)
    scaler: Any = None
    tokenizer: Any = None
    training: dict[str, Any] = field(default_factory=dict)
