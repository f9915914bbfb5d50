"""EXP001, row-alone: padding and the other rows of a batch change nothing.

## What must hold
A row gives the same logits alone, without padding, and within its padded batch.

## Why
What is padded must not be attended to, and positions must count from the first token of
the row. A missing attention mask, a mask of another length, or position ids that count
the padding break it, and the model trains on numbers that it will never see again.

## When it does not apply
One row without padding. Evaluation mode is used, so that BatchNorm does not mix rows.

## What to try
Pass the collator's ``attention_mask`` on to the model, and let it make the position
ids.

## References
- ftlab, `ftlab.diff(model, batch, between="padding")`
"""

from ftlab.executions.parts import padding
from ftlab.experiments.experiment import Experiment
from ftlab.experiments.live import Live
from ftlab.records.outcome import Outcome


class RowAlone(Experiment):
    """A row alone, and in its padded batch."""

    code = "EXP001"
    name = "row-alone"
    relation = "a row gives the same alone and in its padded batch"
    cause = "Padding, or another row, has an influence on this row."
    fix = (
        "Pass attention_mask to the model, and position_ids only if they start at 0 "
        "with each row's first token."
    )

    def run(self, live: Live) -> Outcome:
        """Compare the row with most padding."""
        live.refuse_encoder()
        pair = padding(live.model, live.batch)
        return self.compared(live.of(pair))
