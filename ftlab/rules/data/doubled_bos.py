"""The rule DAT022, doubled-bos.

## What it does
Finds batches whose samples begin with BOS twice.

## Why is this bad?
The model has met one BOS in pre-training and will be served one: it is tuned on a
beginning that it never sees again. Answers get slightly worse, and llama.cpp warns.

## Evidence
Samples of the batches: the first two ids of at least half of them are the tokenizer's
BOS (the model's config tells it where no tokenizer is known), in 2 different samples at
least.
Measured: a Llama-3 template rendered to text and tokenised with
`add_special_tokens=True` gives 2 in each of 4 rows, `apply_chat_template` itself 1.
By hand: `batch["input_ids"][:, :2]`, or `ftlab.tokens(batch=..., tokenizer=...)`.

## What to try
1. `apply_chat_template(..., tokenize=True)`: it adds nothing of its own.
2. `tokenizer(rendered, add_special_tokens=False)`.

## Known problems
None is known where BOS and EOS are two tokens; where they are one, an empty document at
the beginning of a packed row looks the same, and the finding is a note.

## References
- huggingface/trl#1400 (double BOS)
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Severity
from ftlab.rules.reading.samples import (
    NEEDS,
    Samples,
    Sight,
    samples_of,
    steps_of,
    token_places,
)
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run

SAMPLES, SHARE = 2, 0.5
"""Different samples, and the share of all, that begin with BOS twice."""


class DoubledBos(Rule):
    """Finds samples that begin twice."""

    code = "DAT022"
    name = "doubled-bos"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for all samples."""
        samples = samples_of(run)
        begin, known = samples.ids("bos"), samples.sights
        double = [
            each
            for each in known
            if each.sample.exact
            and len(set(each.sample.head[:2])) == 1
            and begin.issuperset(each.sample.head[:2])
            and each.sample.length > 1
        ]
        if len(double) >= max(SAMPLES, SHARE * len(known)):
            yield self._finding(samples, double)

    def _finding(self, samples: Samples, double: list[Sight]) -> Finding:
        steps, first = steps_of(double), double[0].sample
        bos = samples.piece(first.head[0])
        alone = first.head[0] not in samples.stops
        return self.finding(
            Severity.WARNING if alone else Severity.INFO,
            f"{at_steps(*steps)}: {len(double)} of {len(samples.sights)} samples begin "
            f"with {bos} twice",
            cause="The template writes BOS, and the tokenizer adds another one to the "
            "rendered text.",
            fix="tokenizer(text, add_special_tokens=False) for rendered text, or "
            "apply_chat_template(..., tokenize=True).",
            places=token_places(double, lambda sample: sample.start + 1),
            steps=steps,
            evidence={
                "samples": len(double),
                "threshold": SHARE,
                "token": bos,
                "sample": first.row,
                "position": first.start + 1,
            },
            healthy="one BOS, or none, at the beginning of a sample",
        )
