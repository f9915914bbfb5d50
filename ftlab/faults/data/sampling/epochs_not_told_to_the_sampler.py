"""Each epoch has the same batches in the same order, though the data is shuffled.

A sampler for several processes draws the order with its seed and the number of the
epoch, which nobody tells it.

Fix: ``sampler.set_epoch(epoch)`` in front of each epoch.

Source: torch, ``torch.utils.data.distributed.DistributedSampler``, its warning.
"""

from typing import Any

from torch.utils.data import DataLoader, DistributedSampler

from ftlab.faults.builders import Case, Fault, base, batches, plain_case, rows_of
from ftlab.faults.builders.epochs import Epochs


def build(fixed: bool) -> Case:
    """Train on eight batches, again and again."""
    model = base()
    rows: Any = rows_of(batches(8))
    sampler: Any = DistributedSampler(rows, num_replicas=1, rank=0)
    loader: Any = DataLoader(rows, batch_size=len(rows) // 8, sampler=sampler)
    epochs = Epochs(loader, sampler.set_epoch) if fixed else Epochs(loader)
    return plain_case(model, rows=epochs)


FAULT = Fault(
    "the loss repeats itself from epoch to epoch",
    code="DAT029",
    places=("object DistributedSampler",),
    steps=20,
    evident=16,
)
