"""Keeps the samples with the highest losses of a run (opt-in).

Who calls whom: `SampleLosses.on_batch` notes the inputs of a micro-batch. Its losses
come from the model's output, where a fused head puts out log-probabilities, or else
from the graph when backward begins. `SampleLosses.on_gradients` hands them over with
the first tokens of each sample; one step late the host sees whether one of them is
among the highest, and writes it down as an event. Nothing waits for the device.
"""

import heapq
import math
import statistics
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.graph.module_hook import ModuleHook
from ftlab.probes.hooked import HookedProbe
from ftlab.probes.loss.loss_graph import (
    SampleMeans,
    means_from_graph,
    means_from_output,
    spread_of,
)
from ftlab.probes.probe import Moment, Reading
from ftlab.probes.stepping.backward_ear import hear_backward
from ftlab.probes.subject import Subject
from ftlab.probes.taps.forward import innermost
from ftlab.probes.taps.listener import shield
from ftlab.records.errors import BadValueError
from ftlab.records.event import Event
from ftlab.records.handle import Handle

TOKENS = 16
"""First tokens of a sample that are kept."""

USUAL = 256
"""Latest samples whose median loss is the usual one."""

SPREAD = 1e-3
"""Difference of tokens' weights above which a loss is no mean over tokens.

Losses of preferences weigh the tokens of one answer against those of the other.
"""


class _Batch(NamedTuple):
    samples: int
    first: torch.Tensor
    thread: int


class SampleLosses(HookedProbe):
    """Keep the ``keep`` highest losses of single samples, and those most unusual.

    Parameters
    ----------
    keep
        How many, at least 1.
    """

    name: ClassVar[str] = "samples"

    def __init__(self, keep: int) -> None:
        if keep < 1:
            msg = f"highest_losses={keep!r}: keep at least 1 sample, or 0 for none."
            raise BadValueError(msg)
        super().__init__()
        self._keep = keep
        self._batch: _Batch | None = None
        self._found: list[torch.Tensor] = []
        self._sizes: list[int] = []
        self._spreads: dict[int, torch.Tensor] = {}
        self._decode: Callable[[list[int]], str] | None = None
        self._forget()

    def _forget(self) -> None:
        self._highest: list[float] = []
        self._unusual: list[float] = []
        self._latest: deque[float] = deque(maxlen=USUAL)

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Listen for backward; a new run begins with nothing kept."""
        self._forget()
        self._batch, self._found, self._sizes, self._spreads = None, [], [], {}
        self._decode = getattr(subject.tokenizer, "decode", None)
        return [hear_backward(self._take_from_graph, self._fail), self._hooks]

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Note whose losses come next."""
        self._hooks.remove()
        self._batch = None
        ids = inputs.get("input_ids")
        if not isinstance(ids, torch.Tensor) or ids.dim() != 2:
            return ()
        first = _first_tokens(ids, inputs.get("attention_mask"))
        self._batch = _Batch(len(ids), first, threading.get_ident())
        root = innermost(moment.subject.model)
        hook = ModuleHook(shield(self._take_from_output, self._fail), root, "")
        self._hooks.add(root.register_forward_hook(hook))
        return ()

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Hand over what the micro-batches so far showed; the last reading counts."""
        self._raise_failure()
        if not self._found:
            return []
        sizes, step = tuple(self._sizes), moment.step
        zero = self._found[0].new_zeros(())
        spreads = [self._spreads.get(i, zero) for i in range(len(sizes))]
        flat = [each.flatten() for each in self._found]
        everything = torch.cat([*flat, torch.stack(spreads)])
        return [Reading(everything, lambda values: self._sort(values, sizes, step))]

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Let go of what was handed over."""
        self._hooks.remove()
        self._found, self._sizes, self._spreads = [], [], {}
        return {}

    # --- on the training thread, within the step

    def _take_from_output(self, _path: str, output: Any) -> None:
        self._hooks.remove()
        batch = self._batch
        if batch is None:
            return
        means = means_from_output(output, batch.samples)
        if means is not None and output.log_probs.requires_grad:
            number, mask = len(self._found), output.label_mask
            self._spreads[number] = means.losses.new_full((), torch.nan)
            weigh = shield(self._weigh, self._fail)
            self._hooks.add(
                output.log_probs.register_hook(lambda grad: weigh(number, grad, mask))
            )
            self._take(batch, means)

    def _weigh(self, number: int, weights: torch.Tensor, mask: torch.Tensor) -> None:
        self._spreads[number] = spread_of(weights.float(), mask)

    def _take_from_graph(self, losses: Sequence[Any]) -> None:
        batch = self._batch
        if batch is not None and batch.thread == threading.get_ident():
            self._take(batch, means_from_graph(losses, batch.samples))

    def _take(self, batch: _Batch, means: SampleMeans | None) -> None:
        if means is None or len(self._found) >= 4096:
            return
        self._batch = None
        columns = [means.losses[:, None], means.counts[:, None], batch.first]
        self._found.append(torch.cat([each.float() for each in columns], 1))
        self._sizes.append(batch.samples)

    # --- one step later, with the values on the host

    def _sort(
        self, values: NDArray[np.float32], sizes: Sequence[int], step: int
    ) -> Iterable[Event]:
        rows = values[: -len(sizes)].reshape(-1, 2 + TOKENS)
        weighed = np.repeat(~(values[-len(sizes) :] <= SPREAD), sizes)
        usual = statistics.median(self._latest) if self._latest else math.nan
        ends = np.cumsum(sizes)
        for index, row in enumerate(rows):
            loss = float(row[0])
            if not row[1] or weighed[index]:  # no label, or no mean over tokens
                continue
            if self._enters(loss, usual):
                micro = int(np.searchsorted(ends, index, side="right"))
                sample = index - int(ends[micro] - sizes[micro])
                yield self._event(step, micro, sample, row, usual)
        finite = rows[np.isfinite(rows[:, 0]) & ~weighed, 0]
        self._latest.extend(finite.tolist())

    def _enters(self, loss: float, usual: float) -> bool:
        """Whether a loss is among the highest, or the farthest above the usual one."""
        high = _push(self._highest, loss, self._keep)
        if math.isnan(usual):
            return high
        return _push(self._unusual, loss - usual, self._keep) or high

    def _event(
        self, step: int, micro: int, sample: int, row: Any, usual: float
    ) -> Event:
        loss, count = float(row[0]), int(row[1])
        ids = [int(each) for each in row[2:] if each >= 0]
        detail = {
            "sample": sample,
            "micro_batch": micro,
            "loss": loss,
            "tokens": count,
            "usual": usual,
            "keep": self._keep,
            "ids": ids,
            "text": self._text(ids),
        }
        words = f"loss {loss:.4g} of sample {sample} in micro-batch {micro}"
        return Event("sample", step, time.time(), words, detail)

    def _text(self, ids: list[int]) -> str:
        if self._decode is None or not ids:
            return ""
        try:
            return str(self._decode(ids))
        except Exception:  # noqa: BLE001  the ids are kept anyway
            return ""


def _push(heap: list[float], value: float, keep: int) -> bool:
    """Put a value among the ``keep`` largest; NaN counts as the largest of all."""
    key = math.inf if math.isnan(value) else value
    if len(heap) < keep:
        heapq.heappush(heap, key)
        return True
    return heapq.heappushpop(heap, key) < key


def _first_tokens(ids: torch.Tensor, mask: Any) -> torch.Tensor:
    """Return the first tokens of each sample that are no padding; -1 behind the end."""
    length = ids.shape[1]
    start = torch.zeros(len(ids), dtype=torch.long, device=ids.device)
    if isinstance(mask, torch.Tensor) and mask.shape == ids.shape:
        start = mask.long().argmax(1)
    places = start[:, None] + torch.arange(TOKENS, device=ids.device)
    found = ids.gather(1, places.clamp(max=length - 1))
    return torch.where(places < length, found, -1)
