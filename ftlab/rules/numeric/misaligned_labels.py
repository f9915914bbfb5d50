"""The rule NUM014, misaligned-labels.

## What it does
Finds language models that are trained to predict a token other than the next one: the
current one (`same`), the one after the next (`after`), or the previous one.

## Why is this bad?
A model that predicts the token it reads learns to copy: the loss falls to 0, and the
model can generate nothing new. One that predicts the token after the next drops every
second word. The loss curve looks good in the first case and somewhat high in the
second.

## Evidence
The cross entropy that backward is called on still holds the label of each position, and
the batch its tokens (of an encoder-decoder, `decoder_input_ids`, if they are given). On
steps 0-3, 4, 8, 16 and so on the labels that count are compared with the tokens before,
at, one after and two after their position: one offset must explain at least 0.98 of
them, and the next token less than 0.9, at 2 steps.
Measured on a small Llama, GPT-2 and GPT-NeoX: 1.0 for the next token and 0.0 for all
others; with labels that are shifted twice 1.0 for the one after the next. Masked words
(BERT) differ from what is read, and no offset explains them.
Where the labels of a batch are already one position ahead of its ids, its samples are
named: their data was shifted.
By hand: print `input_ids[0]` below the labels that the loss gets.

## What to try
1. Models in transformers shift internally: pass `labels=input_ids`, unshifted.
2. In your own loss shift exactly once: `logits[:, :-1]` against `labels[:, 1:]`.
3. Encoder-decoders make `decoder_input_ids` from the labels: pass only labels.

## Known problems
Copying is the purpose of a text autoencoder: `same` is info unless the model can
generate. Where a second head predicts further tokens, one cross entropy for the next
token is enough. Positions that are selected individually, packed without rows, or cut
off before the head, cannot be compared; neither can a loss that is fused with the head.

## References
- huggingface/transformers#44642 (labels are shifted internally; shifting them again
  trains on the token after the next)
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ftlab.rules.reading.loss_rows import NEEDS, LossRow, loss_rows
from ftlab.rules.reading.samples import PLACES, row_name, samples_of
from ftlab.rules.rule import Finding, Place, Results, Rule, Run, Severity
from ftlab.rules.words import at_steps, number

EXPLAINED, NOT = 0.98, 0.9
"""Share of the labels that an offset explains, and that the next token does not."""

STEPS = 2
"""Measured steps in a row."""

_REASONS = {"label_same": "same", "label_after": "after", "label_before": "before"}
_WORDS = {
    "same": "the token just read",
    "after": "the token after the next",
    "before": "the token before",
}
_CAUSES = {
    "same": "Logits and labels are not shifted against each other: each position "
    "predicts the token that it has just read.",
    "after": "Labels are shifted twice: once by the data or the loop, once by the "
    "model or the loss.",
    "before": "Labels are shifted in the wrong direction.",
}
_UNMASKED = {
    "same": " Or the labels of a masked language model were copied after the masking: "
    "each is the mask token itself."
}
_EARLIER = {"same": " Of a masked language model: copy the labels, then mask."}
_SHIFTED = (
    "The labels in the data are already one position ahead of the ids, and the model "
    "or the loss shifts them again."
)
_FIX = (
    "Shift exactly once: labels=input_ids for a transformers model, or logits[:, :-1] "
    "against labels[:, 1:] in a custom loss."
)


class MisalignedLabels(Rule):
    """Finds labels of another token than the next one."""

    code = "NUM014"
    caused_by = ("EXP005",)
    status = "stable"
    requires = NEEDS

    def check(self, run: Run) -> Results:
        """Yield one finding unless some term is about the next token."""
        rows = [row for row in loss_rows(run) if "label_next" in row.columns]
        if any((row.columns["label_next"] >= NOT).any() for row in rows):
            return
        for row in rows:
            yield from self._check(row, _ahead(run))

    def _check(self, row: LossRow, ahead: list[Place]) -> Results:
        follows = row.columns["label_next"]
        for column, reason in _REASONS.items():
            share = row.columns[column]
            bad = np.flatnonzero((share >= EXPLAINED) & (follows < NOT))
            if len(bad) >= STEPS and len(bad) == np.isfinite(share).sum():
                found = self._finding(row, reason, row.steps[bad], float(share[bad[0]]))
                if reason == "after" and ahead:
                    places = (*found.places, *ahead)
                    found = replace(found, cause=_SHIFTED, places=places)
                yield found
                return

    def _finding(
        self, row: LossRow, reason: str, steps: NDArray[np.int64], share: float
    ) -> Finding:
        first, last = int(steps[0]), int(steps[-1])
        causal = bool(row.name.meta.get("causal"))
        certain = Severity.ERROR if causal else Severity.INFO
        return self.finding(
            certain,
            f"{at_steps(first, last)}: {number(100 * share)} % of the labels are "
            f"{_WORDS[reason]}, not the next one",
            cause=_CAUSES[reason] + ("" if causal else _UNMASKED.get(reason, "")),
            fix=_FIX if causal else _FIX + _EARLIER.get(reason, ""),
            places={"data": "labels", "op": row.text("loss")},
            steps=(first, last),
            reason=reason,
            evidence={"share": share, "threshold": EXPLAINED},
            healthy="the label is the next token, or the masked one",
        )


def _ahead(run: Run) -> list[Place]:
    """Return the samples whose labels are the token behind the one that is read."""
    samples = [sight.sample for sight in samples_of(run).sights]
    moved = [each for each in samples if each.ahead >= EXPLAINED and each.same < NOT]
    rows = dict.fromkeys(row_name(each.micro_batch, each.row) for each in moved)
    return [Place("sample", row) for row in rows][:PLACES]
