"""EXP002, packed-documents: a packed document does not see the others.

## What must hold
A document gives the same logits alone and packed with others into one row.

## Why
Without a boundary (position ids that start again, ``cu_seq_lens``, a block mask), each
document attends to those before it, and its positions continue from theirs.

## When it does not apply
Batches whose ``position_ids`` never start again: nothing is packed, or nothing says so.

## What to try
Use a collator that flattens with position ids, and an attention that reads them.

## References
- transformers, `DataCollatorWithFlattening`
"""

from itertools import pairwise

import torch

from ftlab.executions.pairs import Pair, evaluating
from ftlab.executions.side import NotApplicableError
from ftlab.executions.tokens import Grid, Meeting
from ftlab.experiments.experiment import Experiment
from ftlab.experiments.live import Live
from ftlab.records.outcome import Outcome


class PackedDocuments(Experiment):
    """A document behind another in a packed row, and the same alone."""

    code = "EXP002"
    name = "packed-documents"
    relation = "a packed document gives the same as alone"
    cause = "Documents of one row attend to each other, or count on from each other."
    fix = (
        "Pass position_ids that start again with each document, and use an attention "
        "that reads them (flash_attention_2, flex_attention, sdpa in transformers 5)."
    )

    def run(self, live: Live) -> Outcome:
        """Compare the longest document behind another in the first packed row."""
        ids, positions = live.ids(), live.batch.get("position_ids")
        if not isinstance(positions, torch.Tensor) or positions.shape != ids.shape:
            msg = "the batch has no position_ids, so nothing says what is packed"
            raise NotApplicableError(msg)
        starts = (positions[:, 1:] == 0).nonzero()
        if not len(starts):
            msg = "no row's position_ids start again: nothing is packed"
            raise NotApplicableError(msg)
        row = int(starts[0, 0])
        bounds = [*(starts[starts[:, 0] == row][:, 1] + 1).tolist(), ids.shape[1]]
        first, end = max(pairwise(bounds), key=lambda each: each[1] - each[0])
        taken = torch.arange(first, end)
        alone = {
            "input_ids": ids[row : row + 1, first:end],
            "position_ids": positions[row : row + 1, first:end],
        }
        whole = {k: v for k, v in live.batch.items() if k != "labels"}
        here = Grid((1, len(taken)), torch.zeros_like(taken), taken - first)
        there = Grid((ids.shape[0], ids.shape[1]), torch.full_like(taken, row), taken)
        a, b = (
            live.side(batch, settings=lambda: evaluating(live.model))
            for batch in (alone, whole)
        )
        names = ("the document alone", f"the document packed in row {row}")
        return self.compared(
            Pair(a, b, names, Meeting(here, there, moved=True, parts=True), False)
        )
