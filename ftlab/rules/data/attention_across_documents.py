"""The rule DAT050, attention-across-documents.

## What it does
Finds packed rows whose documents see each other.

## Why is this bad?
Each document but the first is learnt with the text of strangers in front of it, which
it will not have later. The loss looks well.

## Evidence
The masks that the model made for a batch of the run, read without computing a block,
and the documents that the batch itself tells: positions that begin again,
`cu_seq_lens`, `seq_idx`, a BOS in the middle. Threshold: 0.1 % of a
row's pairs; with documents
kept apart the share is 0.
Measured: two documents and more in one row, 40 to 94 %; the logits of later documents
move when the first one is changed, and do not where the share is 0.
By hand: `ftlab.masks(trainer)`.

## What to try
1. No `attention_mask` beside `position_ids`: transformers looks for packed rows only
   without one (eager, sdpa, flex).
2. `use_cache=False`: nor does it look where a cache is passed.
3. Flash attention, or a 4-D mask of blocks.

## Known problems
Documents that are told by a BOS alone may be packed so on purpose, as for pre-training:
that is information, and without a tokenizer, where the ids may be no text, it is left
out. Rows are looked at when a run begins and when its arguments change. Not looked at:
several processes, compiled models.

## References
- transformers, `masking_utils._preprocess_mask_arguments`
- huggingface/transformers#46634
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Severity
from ftlab.rules.reading.attention import LEAST, NEEDS, faulty, places
from ftlab.rules.reading.samples import has_tokenizer
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run


class AttentionAcrossDocuments(Rule):
    """Finds documents of one row that see each other."""

    code = "DAT050"
    name = "attention-across-documents"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for all rows."""
        found = [
            (step, place, detail)
            for step, place, detail in faulty(run, "other sample")
            if place["told_by"] != "BOS" or has_tokenizer(run)
        ]
        if not found:
            return
        step, worst, detail = max(found, key=lambda each: each[1]["share"])
        by_bos = all(place["told_by"] == "BOS" for _, place, _ in found)
        yield self.finding(
            Severity.INFO if by_bos else Severity.WARNING,
            f"{at_steps(step, step)}: {worst['share']:.1%} of what row {worst['row']} "
            f"attends to belongs to other documents, told by {worst['told_by']}",
            cause=_cause(detail, by_bos=by_bos),
            fix="Pass position_ids that begin again, no attention_mask and "
            "use_cache=False.",
            places=places(found),
            steps=(step, step),
            evidence={
                "share": worst["share"],
                "tokens": worst["tokens"],
                "query": worst["query"],
                "key": worst["key"],
                "threshold": LEAST,
            },
            healthy="0 % across documents",
        )


def _cause(detail: dict[str, object], *, by_bos: bool) -> str:
    if by_bos:
        return "Nothing but BOS tells the documents, and attention does not look at it."
    if not detail["positions"]:
        return "The model is given no position_ids that begin again."
    if detail["mask"]:
        return (
            "An attention_mask beside position_ids keeps packed rows from being told."
        )
    if detail["cache"]:
        return (
            "A cache keeps packed rows from being told apart; use_cache is not False."
        )
    return "This model's masks do not look at position_ids."
