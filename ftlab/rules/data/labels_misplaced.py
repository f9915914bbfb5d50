"""The rule DAT025, labels-misplaced.

## What it does
Finds labels that are not those of their token: labels of padding, one filler again and
again where the text has others, labels of other rows of the batch, and of a token
classifier one per word or piece, where texts have more tokens.

## Why is this bad?
The loss falls all the same. Padding is easy to predict: the loss says little of the
text, and the text's gradient shrinks. A filler that was to be ignored is trained:
losses leave out -100 and nothing else, so a model whose prompts have the label 0 learns
to answer with token 0. With labels of other rows each answer is trained behind the
question of somebody else. Classes that are one per word stand at the place of another
word from the first word in two pieces on, and scores look like those of a hard task.

## Evidence
Samples of the batches.
- *padding*: labels other than -100 at positions that the attention mask hides (or,
  without a mask, at PAD behind a text), 2 and more in each of at least 2 samples. One
  may be the end of the text, where PAD is EOS. Of an encoder-decoder the labels are
  read as texts of their own. Measured: `labels = input_ids.clone()` behind
  `tokenizer(..., padding=True)` trains all padding.
- *other-rows*: in 2 samples fewer than half of the labels that count are the tokens at
  their own positions, and all of them, 4 at least, are those of one other row. In all
  labels of two rows that was never seen by chance, `random-labels`, `masked-words` and
  targets that are shifted by hand included.
- *per-word*: of 4 different samples at least with labels that are no tokens, 90 % have
  them from the very first position on, which is a control token, without a gap, up to 2
  and more tokens before the text ends; by how many differs from sample to sample, or is
  the number of control tokens in each. Labels that follow `word_ids` begin later, have
  gaps, or reach the end. Measured: 16 of 16 samples, and 0 of 16 with labels for the
  first piece of each word.
- *filler*, *single*: what a cross entropy compares, of the first micro-batch of each
  16th step, at each that was measured. The most common label is a tenth of all that
  count or more, the tokens that are read have it ten times less often, nine tenths of
  these labels are not the next token, and all others are (98 %). Or all labels are one
  token, 2 for each row at least, of a vocabulary of 64 or more, and half of the text at
  most is. Measured: prompts with the label 0 make it 0.6 of the labels and 0 of the
  text; masked words with labels taken too late, `[MASK]` is all labels.

By hand: `(labels != -100) & (attention_mask == 0)`,
`batch["labels"].unique(return_counts=True)`; `labels[i]` beside `input_ids[j]`;
`labels[i, 0] != -100` at a row's first special token.

## What to try
1. `labels[batch["attention_mask"] == 0] = -100`, or a collator that does so
   (DataCollatorForLanguageModeling, DataCollatorForSeq2Seq, TRL's);
   `labels[:, :prompt] = -100` for prompts; `input_ids.clone()` in front of the masking.
2. Make ids and labels in one go, from one order of the rows; sort before, not between.
3. `tokenizer(words, is_split_into_words=True)`, and labels by `word_ids()`: the class
   for the first piece of a word, -100 for the others and for special tokens.
   `DataCollatorForTokenClassification` pads labels, and aligns none.

## Known problems
Only labels that the model is given are seen; of a loss with an `ignore_index` of its
own that one is heeded. Labels of rows of another batch, and of encoder-decoders, are
not compared with rows. Class labels that are padded with a class cannot be told from
right ones.

## References
- torch, `cross_entropy`, `ignore_index` (-100 unless set); `pack_padded_sequence`: rows
  sorted by length have to be put back
- transformers, DataCollatorForLanguageModeling; "Token classification", preprocessing
- cleanlab, "label errors": the loss does not show labels of other rows
"""

import numpy as np

from ftlab.records.sample_facts import SampleFacts
from ftlab.rules.reading.loss_rows import LossRow, loss_rows
from ftlab.rules.reading.samples import Samples, samples_of, token_places
from ftlab.rules.reading.token_rules import TOKENS, SampleRule
from ftlab.rules.rule import Finding, Results, Run, Severity, either, needs_column
from ftlab.rules.words import at_steps, number

SAMPLES, LABELS = 2, 2
"""Samples with labels on padding or of other rows, and labels on padding in each."""

WORDS, SHARE, OWN, LEFT = 4, 0.9, 0.5, 2
"""Samples of classes, the share of them that is so, the share of labels that are the
token at their place, below which they are classes, and last tokens without a label: a
piece of a word, and a token behind the text."""

FILLER, RARER, EXPLAINED, OTHERS = 0.1, 0.1, 0.98, 0.9
"""Share of the labels that is one token, how much rarer it is in the text, the share of
the labels that it and the next tokens are together, and that of its labels that are not
the next token."""

SINGLE, READ, PER_ROW, VOCABULARY = 0.999, 0.5, 2, 64
"""Share of the labels that is one token, and of the text at most; labels for each row,
and classes, at least."""

LOSSES = needs_column(
    "common_share",
    "what a cross entropy compares",
    "ftlab.watch(...) with its standard probes, and a loss with a cross entropy that "
    "is not fused with the head",
    "losses",
)


class LabelsMisplaced(SampleRule):
    """Finds labels that no token of the text has, or another one."""

    code = "DAT025"
    requires = either(TOKENS, LOSSES)

    def check(self, run: Run) -> Results:
        """Yield one finding for each kind."""
        samples = samples_of(run)
        yield from self._padding(samples)
        yield from self._of_others(samples)
        yield from self._per_word(samples)
        if not LOSSES.present(run):
            yield self.lacks(LOSSES)
        for row in loss_rows(run):
            known = np.isfinite(row.columns.get("common_share", np.empty(0)))
            if not known.any():
                continue
            for reason, found in (
                ("filler", _filler(row)),
                ("single", _single(run, row)),
            ):
                if found[known].all():
                    yield self._constant(run, row, reason, known)
                    return

    def _padding(self, samples: Samples) -> Results:
        sick = samples.where(lambda e: e.padding_trained >= LABELS and e.labels_of < 0)
        if len(sick) < SAMPLES:
            return
        count = sum(each.sample.padding_trained for each in sick)
        text = sum(each.sample.trained for each in samples.sights)
        yield self.of_samples(
            f"{count} labels of {len(sick)} samples are on padding, beside {text} on "
            "text",
            sick,
            lambda each: each.end if each.end < each.width else 0,
            cause="Labels hold the padding of their texts as it is.",
            fix="labels[attention_mask == 0] = -100; of a decoder's answers, "
            "labels[labels == tokenizer.pad_token_id] = -100.",
            reason="padding",
            evidence={"labels": count, "samples": len(sick), "threshold": LABELS},
            healthy="-100 on all padding",
        )

    def _of_others(self, samples: Samples) -> Results:
        sick = samples.where(lambda sample: sample.labels_of >= 0)
        if len(sick) < SAMPLES:
            return
        first, seen = sick[0].sample, len(samples.sights)
        yield self.of_samples(
            f"the labels of {len(sick)} of {seen} samples are the tokens of other "
            f"rows; row {first.row} has those of row {first.labels_of}",
            sick,
            lambda each: each.stretches[0].start if each.stretches else each.end,
            severity=Severity.ERROR,
            cause="Ids and labels were put into a batch in two orders: one of them was "
            "sorted or shuffled alone.",
            fix="Make labels of the ids that are in the batch: labels = "
            "input_ids.clone(), then -100 where nothing is to be learnt.",
            reason="other-rows",
            evidence={
                "samples": len(sick),
                "of": seen,
                "threshold": SAMPLES,
                "row": first.row,
                "labels of": first.labels_of,
            },
            healthy="labels that are the tokens of their own row",
        )

    def _per_word(self, samples: Samples) -> Results:
        known = samples.where(lambda sample: sample.trained > 0)
        sick = [each for each in known if _is_per_word(each.sample)]
        if len(known) < WORDS or len(sick) < SHARE * len(known):
            return
        shifted = all(_left(e.sample) == len(e.sample.controls) for e in sick)
        if not shifted and len({_left(each.sample) for each in sick}) == 1:
            return
        first = sick[0].sample
        yield self.of_samples(
            f"the labels of {len(sick)} of {len(known)} samples begin on the token in "
            f"front of the text and end before the text does, by {_left(first)} tokens "
            f"in row {first.row}",
            sick,
            lambda each: each.start,
            cause="They are one per piece of a word, and the tokenizer has added "
            "tokens in front and behind: each stands one place too early."
            if shifted
            else "They are one per word, and the tokenizer has split words and added "
            "tokens.",
            fix="Align them: encoding.word_ids() names the word of each token; -100 "
            "where it is None, and on second pieces.",
            reason="per-word",
            evidence={
                "samples": len(sick),
                "of": len(known),
                "threshold": SHARE,
                "tokens left": _left(first),
            },
            healthy="no label on special tokens, one for each word's first piece",
        )

    def _constant(
        self, run: Run, row: LossRow, reason: str, known: np.ndarray
    ) -> Finding:
        """Tell of a term of the loss whose labels are one token, or filled with it."""
        steps, filler = row.steps[known], reason == "filler"
        first, last = int(steps[0]), int(steps[-1])
        label = int(row.columns["common_label"][known][0])
        share = float(row.columns["common_share"][known][0])
        samples = samples_of(run)
        sights = samples.where(lambda sample: _place(sample, reason) >= 0)
        return self.warning(
            f"{at_steps(first, last)}: {number(100 * share)} % of the labels are "
            f"{samples.piece(label)}{', where the text has others' if filler else ''}",
            cause="What is to be ignored has this label, and the loss ignores -100."
            if filler
            else "Labels were made of ids that had been masked or replaced before.",
            fix="labels[...] = -100 where nothing is to be learnt."
            if filler
            else "labels = input_ids.clone() in front of the masking.",
            places=token_places(sights, lambda sample: _place(sample, reason)),
            steps=(first, last),
            reason=reason,
            evidence={
                "label": label,
                "share": share,
                "threshold": FILLER if filler else SINGLE,
            },
            healthy="labels that are tokens of the text, or -100",
        )


def _left(sample: SampleFacts) -> int:
    """Count the last tokens that have no label."""
    return sample.length - sample.trained


def _is_per_word(sample: SampleFacts) -> bool:
    """Tell whether labels are as many as something that has fewer than the tokens."""
    if not 0 <= sample.same < OWN or sample.labels_of >= 0:
        return False
    begins = bool(sample.controls) and sample.controls[0].position == sample.start
    only = sample.stretches[0] if len(sample.stretches) == 1 else None
    if not begins or only is None or only.start != sample.start:
        return False
    return only.end <= sample.end - LEFT


def _filler(row: LossRow) -> np.ndarray:
    share, read = row.columns["common_share"], row.columns["common_read"]
    follows = row.columns.get("label_next", np.full(share.shape, np.nan))
    many = (share >= FILLER) & (read <= RARER * share)
    apart = follows <= 1 - OTHERS * share
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
