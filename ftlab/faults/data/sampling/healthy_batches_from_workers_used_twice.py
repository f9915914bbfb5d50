"""Two workers stream rows of their own, and each batch is used for two updates.

Batches come in pairs, as many as there are workers, because the loop wants it so.
"""

import itertools
from typing import Any

from torch.utils.data import DataLoader

from ftlab.faults.builders import Case, Healthy, adamw, base, batches, rows_of
from ftlab.faults.builders.loops import plain_step
from ftlab.faults.data.sampling.stream_in_every_worker import Stream


def build() -> Case:
    """Build a loop over a loader that makes two updates with each batch."""
    model = base()
    optimizer = adamw(model)
    stream = Stream(rows_of(batches(16)), shared=True)
    update = plain_step(model, optimizer)
    loader: DataLoader[Any] = DataLoader(stream, batch_size=4, num_workers=2)
    endless = itertools.chain.from_iterable(itertools.repeat(loader))

    def step(_: Any) -> float:
        batch = next(endless)
        update(batch)
        return update(batch)

    return Case(model, optimizer, [None], step)


HEALTHY = Healthy(
    "each batch of a stream from two workers is used for two updates",
    looks_like=("DAT029",),
    steps=12,
)
