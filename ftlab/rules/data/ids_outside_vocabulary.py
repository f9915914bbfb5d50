"""The rule DAT002, ids-outside-vocabulary.

## What it does
Finds the batch whose input ids have no row in the embedding, and at which the run
ended.

## Why is this bad?
The lookup raises "index out of range in self", or on CUDA a device-side assert that is
reported somewhere else and leaves the process unusable. Neither says which token.

## Evidence
The largest and the smallest id of each row of every batch, read in front of the
forward, against the rows of the input embedding. Told only where the step of that batch
was never made, and no earlier step with such ids was: some models put pictures in their
place, and train on. Threshold: the number of rows.
Measured: a `<pad>` that was added without a resize has the id 366 of 366 rows.
By hand: `batch["input_ids"].max()`, `model.get_input_embeddings().num_embeddings`.

## What to try
1. `model.resize_token_embeddings(len(tokenizer))` after tokens were added.
2. An existing token as PAD, where only padding is new.
3. The tokenizer of this model, and its vocabulary in the data that was prepared.

## Known problems
In a model of one's own the largest embedding is taken for that of the words.
Devices that raise nothing (MPS) are not judged.

## References
- huggingface/transformers#1848, #24698, meta-llama/llama-cookbook#189
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Severity
from ftlab.rules.reading.batches import NEEDS, refused_batches
from ftlab.rules.rule import Rule
from ftlab.rules.words import counted
from ftlab.runlog.run import Run


class IdsOutsideVocabulary(Rule):
    """Finds ids without a row in the embedding."""

    code = "DAT002"
    name = "ids-outside-vocabulary"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for the batch that ended the run."""
        found = refused_batches(run, "ids")
        if not found:
            return
        first = found[0]
        odd, rows = first.odd, int(float(first.odd.limit))
        piece = f" ({odd.piece!r})" if odd.piece else ""
        negative = float(odd.value) < 0
        yield self.finding(
            Severity.ERROR,
            f"{first.batch}: token {odd.position} of sample {first.sample} has the id "
            f"{odd.value}{piece}, and the embedding has {rows} rows; "
            f"{counted(odd.rows, 'sample')} of the batch like this",
            cause="The collator pads with a negative id, or marks places with one."
            if negative
            else "Tokens were added to the tokenizer and the embedding was not "
            "resized, or the ids are those of another tokenizer.",
            fix="pad_token_id of this vocabulary in the collator."
            if negative
            else "model.resize_token_embeddings(len(tokenizer)), before the optimizer "
            "is built.",
            places=first.places,
            steps=(first.step, first.step),
            evidence={
                "id": odd.value,
                "token": odd.piece,
                "sample": odd.row,
                "position": odd.position,
                "micro_batch": odd.micro_batch,
                "samples": odd.rows,
                "threshold": rows,
            },
            healthy="every id below the rows of the embedding",
        )
