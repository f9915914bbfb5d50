"""The rule DAT051, padding-attended.

## What it does
Finds batches in which text attends to padding.

## Why is this bad?
What a token means then depends on how much its row is padded, and that on the other
rows of its batch. Evaluated alone, the same text gives other numbers.

## Evidence
The masks that the model made for a batch of the run, read without computing a block;
padding is what the 2-D mask hides or, without one, PAD at the ends of a row. Threshold:
0.1 % of the pairs of a row. Causal models do not attend to padding behind the text.
Measured: 4 of 24 tokens padded on the left without a mask, 15 to 35 %; with it 0.
By hand: `ftlab.masks(trainer)`.

## What to try
1. Pass `attention_mask`, 0 at the padding.
2. A PAD that is not EOS, where the mask is made from the ids.

## Known problems
Rows are looked at when a run begins and when its arguments change. Not looked at:
several processes, compiled models. A PAD that is EOS as well is padding from the second
on.

## References
- huggingface/transformers#25790
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Severity
from ftlab.rules.reading.attention import LEAST, NEEDS, faulty, places
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run


class PaddingAttended(Rule):
    """Finds text that attends to padding."""

    code = "DAT051"
    name = "padding-attended"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for all rows."""
        found = faulty(run, "padding")
        if not found:
            return
        step, worst, detail = max(found, key=lambda each: each[1]["share"])
        cause = (
            "The attention_mask is not 0 at the padding."
            if detail["mask"]
            else "The model is given no attention_mask."
        )
        yield self.finding(
            Severity.WARNING,
            f"{at_steps(step, step)}: {worst['share']:.1%} of what row {worst['row']} "
            "attends to is padding",
            cause=cause,
            fix="Pass attention_mask, 0 at the padding.",
            places=places(found),
            steps=(step, step),
            evidence={
                "share": worst["share"],
                "tokens": worst["tokens"],
                "query": worst["query"],
                "key": worst["key"],
                "threshold": LEAST,
            },
            healthy="0 % on padding",
        )
