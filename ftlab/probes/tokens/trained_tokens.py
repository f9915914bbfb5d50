"""How many of the tokens whose rows PEFT trains have come up in the batches so far."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.taps.forward import innermost
from ftlab.probes.tokens.batch import batch_fields
from ftlab.probes.tokens.token_tables import token_tables
from ftlab.records.step import Column

FIELDS = ("input_ids", "decoder_input_ids", "labels")
"""Where a batch holds tokens: labels are inputs of a decoder that shifts them."""


class TrainedTokens(Probe):
    """Follow the tokens of ``trainable_token_indices``, from the first step on."""

    columns = (
        Column("tokens_trained", "1", "Tokens whose rows are trained by themselves."),
        Column("tokens_seen", "1", "Those that the batches have held so far."),
    )

    def __init__(self) -> None:
        self._wanted: list[int] | None = None
        self._marks: torch.Tensor | None = None

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Mark the tokens of one micro-batch, on its device."""
        if self._wanted is None:
            self._wanted = _wanted(innermost(moment.subject.model))
        self.rests = not self._wanted
        if self._wanted:
            fields = batch_fields(inputs)
            for name in FIELDS:
                ids = fields.get(name)
                if ids is not None and not ids.is_floating_point():
                    self._mark(ids.detach().flatten(), max(self._wanted))
        return ()

    def _mark(self, ids: torch.Tensor, last: int) -> None:
        """Set the mark of each id; ``torch.isin`` would wait for the device."""
        if self._marks is None:
            self._marks = torch.zeros(last + 2, dtype=torch.bool, device=ids.device)
        held = ids.to(self._marks.device, non_blocking=True).long()
        known = torch.where((held >= 0) & (held <= last), held, last + 1)
        self._marks.index_fill_(0, known, True)

    def on_gradients(self, moment: Moment) -> Iterable[Reading]:
        """Count those that were seen."""
        if not self._wanted or self._marks is None:
            return ()
        count, rows = len(self._wanted), torch.tensor(self._wanted)
        seen = self._marks[rows.to(self._marks.device)].sum(dtype=torch.float32)

        def finish(read: NDArray[np.float32]) -> Iterable[dict[str, float]]:
            yield {"tokens_trained": float(count), "tokens_seen": float(read[0])}

        return (Reading(seen.reshape(1), finish),)


def _wanted(model: torch.nn.Module) -> list[int]:
    """List the tokens of which rows are trained, where not all of them are."""
    tables = token_tables(model)
    if any(table.learnt is None or table.weight.requires_grad for table in tables):
        return []
    return sorted({row for table in tables for row in table.learnt or () if row >= 0})
