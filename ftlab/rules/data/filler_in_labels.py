"""The rule DAT041, filler-in-labels.

## What it does
Finds labels that hold one token again and again where the text has others, and labels
that are one token throughout.

## Why is this bad?
What was to be ignored is trained. Losses leave out -100 and nothing else: a model whose
prompts have the label 0 learns to answer them with token 0, and one whose labels were
taken behind the masking learns to say `[MASK]`.

## Evidence
What a cross entropy compares, of the first micro-batch of each 16th step, and what the
model reads. *filler*: the most common label is a tenth of all that count or more, the
tokens that are read have it ten times less often, nine tenths of these labels are not
the next token, and all others are (98 %). *single*: all labels are one token, 2 for
each row at least, of a vocabulary of 64 or more, and half of the text at most is. So at
each step that was measured.
Measured: prompts with the label 0 make it 0.6 of the labels and 0 of the text; masked
words with labels taken too late, `[MASK]` is all labels.
By hand: `batch["labels"].unique(return_counts=True)`.

## What to try
1. -100 where nothing is to be learnt: `labels[:, :prompt] = -100`.
2. `labels = input_ids.clone()` in front of the masking, not behind it.

## Known problems
A loss with an `ignore_index` of its own is heeded; one that is not a cross entropy is
not looked at.

## References
- torch, `torch.nn.CrossEntropyLoss`, `ignore_index` (-100 unless set)
"""

from collections.abc import Iterator

import numpy as np

from ftlab.records.finding import Finding, NotChecked, Severity
from ftlab.records.sample_facts import SampleFacts
from ftlab.rules.reading.loss_rows import LossRow, loss_rows
from ftlab.rules.reading.samples import samples_of, token_places
from ftlab.rules.rule import Rule, needs_column
from ftlab.rules.words import at_steps, number
from ftlab.runlog.run import Run

FILLER, RARER, EXPLAINED, OWN = 0.1, 0.1, 0.98, 0.9
"""Share of the labels that is one token, how much rarer it is in the text, the share of
the labels that it and the next tokens are together, and that of its labels that are not
the next token."""

SINGLE, READ, PER_ROW, VOCABULARY = 0.999, 0.5, 2, 64
"""Share of the labels that is one token, and of the text at most; labels for each row,
and classes, at least."""


class FillerInLabels(Rule):
    """Finds labels that no text has."""

    code = "DAT041"
    name = "filler-in-labels"
    since = "0.1.0"
    status = "preview"
    requires = (
        needs_column(
            "common_share",
            "what a cross entropy compares",
            "ftlab.watch(...) with its standard probes, and a loss with a cross "
            "entropy that is not fused with the head",
            "losses",
        ),
    )

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for the first term of the loss that has such labels."""
        for row in loss_rows(run):
            known = np.isfinite(row.columns.get("common_share", np.empty(0)))
            if not known.any():
                continue
            for reason, found in (
                ("filler", _filler(row)),
                ("single", _single(run, row)),
            ):
                if found[known].all():
                    yield self._finding(run, row, reason, known)
                    return

    def _finding(
        self, run: Run, row: LossRow, reason: str, known: np.ndarray
    ) -> Finding:
        steps = row.steps[known]
        first, last = int(steps[0]), int(steps[-1])
        label = int(row.columns["common_label"][known][0])
        share = float(row.columns["common_share"][known][0])
        samples = samples_of(run)
        sights = [each for each in samples.sights if _place(each.sample, reason) >= 0]
        where = "" if reason == "single" else ", where the text has others"
        return self.finding(
            Severity.WARNING,
            f"{at_steps(first, last)}: {number(100 * share)} % of the labels are "
            f"{samples.piece(label)}{where}",
            cause="What is to be ignored has this label, and the loss ignores -100."
            if reason == "filler"
            else "Labels were made of ids that had been masked or replaced before.",
            fix="labels[...] = -100 where nothing is to be learnt."
            if reason == "filler"
            else "labels = input_ids.clone() in front of the masking.",
            places=token_places(sights, lambda sample: _place(sample, reason)),
            steps=(first, last),
            evidence={
                "reason": reason,
                "label": label,
                "share": share,
                "threshold": FILLER if reason == "filler" else SINGLE,
            },
            healthy="labels that are tokens of the text, or -100",
        )


def _filler(row: LossRow) -> np.ndarray:
    share, read = row.columns["common_share"], row.columns["common_read"]
    follows = row.columns.get("label_next", np.full(share.shape, np.nan))
    many = (share >= FILLER) & (read <= RARER * share)
    apart = follows <= 1 - OWN * share
    return np.asarray(many & apart & (follows + share >= EXPLAINED))


def _single(run: Run, row: LossRow) -> np.ndarray:
    share, table = row.columns["common_share"], run.steps
    lines = np.isin(table.step, row.steps)
    per_row = (table["labels"] / table["batch_size"])[lines]
    wordy = row.classes >= VOCABULARY and np.nanmin(per_row, initial=np.inf) >= PER_ROW
    others = row.columns["common_read"] <= READ
    return np.asarray((share >= SINGLE) & others & wordy)


def _place(sample: SampleFacts, reason: str) -> int:
    if reason == "filler":
        return sample.unlike
    return sample.stretches[0].start if sample.stretches else -1
