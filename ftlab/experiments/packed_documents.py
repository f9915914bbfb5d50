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

from ftlab.executions.parts import packing
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
        return self.compared(live.of(packing(live.model, live.batch)))
