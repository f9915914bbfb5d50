"""The rule DAT002, batch-refused.

## What it does
Finds the batch at which the run ended: its ids have no row in the embedding, its labels
name no class, its labels or mask have another shape than its ids, or ids or labels are
of a type that the model does not take. Also finds batches whose ids are not in rows.

## Why is this bad?
The error comes from deep within the model ("index out of range in self", "Target 367 is
out of bounds", "Expected input batch_size (28) to match target batch_size (32)"), or on
CUDA as a device-side assert that is reported somewhere else. It names neither the field
nor the sample. Ids with a dimension too many may raise nothing: blocks take it for that
of the tokens, and the loss falls as far as single words go.

## Evidence
Read in front of the forward, of every batch: the largest and the smallest id of each
row against the rows of the input embedding; the labels, -100 left out, against the
outputs of the head or `num_labels`; shapes and dtypes of `input_ids`, `labels` and
`attention_mask`. Told only where the step of that batch was never made, and no earlier
step with the like was: some models put pictures in the place of an id, a loss may have
an ignored value of its own. Thresholds: the number of rows, that of classes, equal
shapes, int64 (int32 for ids). Of ids that are in no rows, and that the model takes, the
shape in which they reach the first block: other than samples, tokens and features is an
error; some models (GPT-2, OPT) make rows of them.
Measured: a `<pad>` that was added without a resize has the id 366 of 366 rows; labels
padded with -1, or cut to 7 of 8 tokens, end the run at the first step, ids as floats at
the first lookup; with ids of (4, 1, 10) a Llama of transformers 5.23 trains.
By hand: `{name: (value.shape, value.dtype, value.max()) for name, value in
batch.items()}`.

## What to try
1. `model.resize_token_embeddings(len(tokenizer))` after tokens were added; an existing
   token as PAD, where only padding is new.
2. -100 where a label shall not count; classes numbered from 0, and `num_labels` as
   many.
3. A collator that pads labels too: `DataCollatorForSeq2Seq`, TRL's; `.long()` in it.
4. `tokenizer(text)` without `return_tensors` in `map`: it makes a batch of one.

## Known problems
In a model of one's own the largest embedding is taken for that of the words. Devices
that raise nothing (MPS) are not judged, nor are losses outside of the model. Only the
first and last dimensions of ids, labels and masks are compared. Float labels of a
classifier are wrong only with one number for each row.

## References
- huggingface/transformers#1848, #24698, meta-llama/llama-cookbook#189 (ids)
- huggingface/trl#1802 (labels)
- transformers, `DataCollatorWithPadding` does not pad labels
- torch, `cross_entropy`: class indices are long
"""

from ftlab.records.batch_facts import OddKind
from ftlab.rules.reading.batches import NEEDS, OddBatch, odd_batches, refused_batches
from ftlab.rules.rule import Finding, Place, Results, Rule, Run
from ftlab.rules.words import counted

KINDS: tuple[OddKind, ...] = ("ids", "labels", "shape", "dtype")
"""What ends a run; labels are often ids, which are told first."""


class BatchRefused(Rule):
    """Finds the batch that the model does not take."""

    code = "DAT002"
    requires = NEEDS

    def check(self, run: Run) -> Results:
        """Yield one finding for the batch that ended the run."""
        found = (refused_batches(run, kind) for kind in KINDS)
        first = next((each[0] for each in found if each), None)
        first = first or next(iter(_misread(run)), None)
        if first is not None:
            says, cause, fix = _words(first)
            yield self._finding(first, says, cause, fix)

    def _finding(self, each: OddBatch, says: str, cause: str, fix: str) -> Finding:
        odd = each.odd
        of_token = odd.kind in ("ids", "labels")
        others = f"; {counted(odd.rows, 'sample')} of the batch like this"
        return self.error(
            f"{each.batch}: {says}{others if of_token else ''}",
            cause=cause,
            fix=fix,
            places=each.places if of_token else [Place("data", odd.field)],
            steps=(each.step, each.step),
            reason=odd.kind,
            evidence={
                "field": odd.field,
                "value": odd.value,
                "token": odd.piece,
                "sample": odd.row,
                "position": odd.position,
                "micro_batch": odd.micro_batch,
                "samples": odd.rows,
                "threshold": odd.limit,
            },
            healthy="ids and labels within their range, of one shape, int64",
        )


def _words(each: OddBatch) -> tuple[str, str, str]:
    """Say what is there, why, and what to do."""
    odd = each.odd
    if odd.kind in ("ids", "labels"):
        return (_of_ids if odd.kind == "ids" else _of_labels)(each)
    if odd.kind == "dtype":
        return (
            f"{odd.field} is {odd.value}, and the model takes {odd.limit}",
            "The dataset or the collator has made other numbers of them.",
            f"batch['{odd.field}'].long() in the collator.",
        )
    if odd.field == "input_ids":
        return (
            f"input_ids has the shape {odd.value}; the model reads samples of tokens, "
            f"{odd.limit}",
            'Each text was tokenised with return_tensors="pt", which makes a batch of '
            "one, and these were stacked; or one row was handed over alone.",
            "Tokenise without return_tensors, and let the collator make the tensors; "
            "or batch = {k: v.squeeze(1) for k, v in batch.items()}.",
        )
    return (
        f"{odd.field} has the shape {odd.value}, and goes with input_ids only as "
        f"{odd.limit}",
        "The collator pads or cuts one field and not the other.",
        "Pad ids and labels together: DataCollatorForSeq2Seq(tokenizer).",
    )


def _of_ids(each: OddBatch) -> tuple[str, str, str]:
    odd, negative = each.odd, float(each.odd.value) < 0
    return (
        f"token {odd.position} of sample {each.sample} has the id {_number(each)}, and "
        f"the embedding has {int(float(odd.limit))} rows",
        "The collator pads with a negative id, or marks places with one."
        if negative
        else "Tokens were added to the tokenizer and the embedding was not resized, or "
        "the ids are those of another tokenizer.",
        "pad_token_id of this vocabulary in the collator."
        if negative
        else "model.resize_token_embeddings(len(tokenizer)), before the optimizer is "
        "built.",
    )


def _of_labels(each: OddBatch) -> tuple[str, str, str]:
    odd, negative = each.odd, float(each.odd.value) < 0
    return (
        f"label {odd.position} of sample {each.sample} is {_number(each)}, and the "
        f"model has {int(float(odd.limit))} classes",
        "Labels are padded or masked with another number than -100."
        if negative
        else "Labels are numbered beyond the classes: counted from 1, of another "
        "tokenizer, or of tokens that were added without a resize.",
        "-100 at labels that shall not count."
        if negative
        else "Number the labels from 0 to num_labels - 1, or resize the embeddings to "
        "len(tokenizer).",
    )


def _number(each: OddBatch) -> str:
    piece = each.odd.piece
    return f"{each.odd.value} ({piece!r})" if piece else f"{each.odd.value}"


def _misread(run: Run) -> list[OddBatch]:
    """Return ids that the model has read, and took samples for tokens in doing so."""
    taken = (e.detail.get("hidden") for e in run.whole.events if e.kind == "attention")
    odd = odd_batches(run, "shape") if any(taken) else []
    return [each for each in odd if each.odd.field == "input_ids"]
