"""Facts of a batch that nobody trains on yet, by the probes that a watch asks."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

from ftlab.probes.attention.batch_attention import BatchAttention
from ftlab.probes.probe import Moment, Probe, Tensors
from ftlab.probes.subject import Subject
from ftlab.probes.tokens.batch_checks import BatchChecks
from ftlab.probes.tokens.row_events import FIRST
from ftlab.records.event import Event


def batch_events(
    batch: Mapping[str, Any], tokenizer: Any = None, model: Any = None
) -> Iterator[Event]:
    """Yield what is odd in a batch, and what attends to what it must not.

    Parameters
    ----------
    batch
        As the model is given it, or in arrays or lists.
    tokenizer
        Names ids, and says which of them pad, begin and end a text.
    model
        Says which ids and labels it can take, and reads its masks up to the first
        block; without one, only what no model can take is known.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.tokens.batch_events import batch_events
    >>> batch = {"input_ids": torch.tensor([[1, 9]])}
    >>> event, *_ = batch_events(batch, model=torch.nn.Embedding(8, 2))
    >>> event.detail["oddities"][0]["value"]
    9
    """
    known = torch.nn.Module() if model is None else model
    subject = Subject(known, tokenizer=tokenizer)
    tensors = Tensors(np.zeros(0, np.int32), (), ())
    given = {name: _as_tensor(value) for name, value in batch.items()}
    moment = Moment(FIRST, subject, tensors, 1.0, _unnamed)
    probes: list[Probe] = [BatchChecks()]
    if model is not None:
        probes.append(BatchAttention())
    for probe in probes:
        probe.attach(subject)
        readings = [*probe.on_batch(moment, given), *probe.on_gradients(moment)]
        for reading in readings:
            values = reading.values.detach().float().cpu().numpy()
            yield from (e for e in reading.finish(values) if isinstance(e, Event))


def _as_tensor(value: Any) -> Any:
    """Return what a collator would make of rows of one length; others as they are."""
    with contextlib.suppress(TypeError, ValueError, RuntimeError):
        return torch.as_tensor(value)
    return value


def _unnamed(*_: Any, **__: Any) -> int:
    return 0
