"""The rule DAT020, end-not-trained.

## What it does
Finds trainings in which no end is taught: the text before EOS is trained, and EOS
itself never is; texts of many lengths have no EOS at all; or the attention mask hides
the ends of turns in the middle of a text.

## Why is this bad?
The model learns what to say and not when to be silent: it goes on until
`max_new_tokens`, and invents the next question on the way. The loss looks well. Behind
a hidden end, text is trained as if no turn had ended before it; whoever generates
attends to these ends, and the model meets them for the first time.

## Evidence
Samples of the batches with their labels. A token that ends a text is the `eos_token_id`
of the generation config, of the model's config or of the tokenizer.
- *pad-is-eos*, *hidden*, *mask*: trained labels end directly before such a token at 2
  places at least, and in none of the samples has one a label that counts. It is also
  the padding, which a collator leaves out by its id; or the attention mask is 0 there
  and the text goes on; or neither: a mask of answers ends one token too early.
  Measured: transformers' DataCollatorForLanguageModeling with `pad_token = eos_token`
  trains 0 of 12 real EOS, with a padding token of its own 12 of 12; after 60 steps of a
  small Llama EOS at the end of an answer has a probability of 1e-5, and of 0.99.
- *hidden-within*: in 2 samples at least such a token is hidden, and both of its
  neighbours are seen. Padding comes between documents or behind them, in runs, and a
  mask by length hides nothing within. Measured: the mask `ids != eos` over
  conversations of two turns hides the first end of each of 16 rows; by length, none.
- *no-end*: 4 different samples at least. The last token of each is trained, is what the
  model reads, and is no control token, nor are the two before it; no sample holds an
  end anywhere. At most half have the greatest length: texts that were cut into blocks
  have one length and rightly no end. A warning where they are answers: a question is
  left out of the labels, or all begin with the same two tokens behind BOS, as a
  formatting writes them; else a note. Measured: "### Question ... ### Answer ..."
  through a tokenizer that adds no EOS ends 0 of 6 rows with it, and 6 of 6 after
  `text + tokenizer.eos_token`.

By hand: `(labels == -100)[(input_ids == eos) & (attention_mask == 1)]`,
`[row[-1] for row in dataset["input_ids"]]`; `attention_mask[i][:lengths[i]]` holds a 0.

## What to try
1. A padding token of its own: an unused one of the vocabulary, or a new one.
2. The mask that the tokenizer returns (`tokenizer.pad(rows)`), or one by length:
   `torch.arange(width) < lengths[:, None]`; and labels masked by it, not by
   `labels == pad_token_id`.
3. Put the end of the turn within `{% generation %}` ... `{% endgeneration %}`.
4. Append `tokenizer.eos_token` to every text, or use a chat template that closes the
   last answer with a token that generation stops at.

## Known problems
Who wants answers without an end, for texts that are to be continued, may leave it out;
paragraphs for further pre-training may rightly have none. A formatting that begins with
the user's own words, trained as a whole, is taken for such. Without an attention mask
nothing is said of rows that are padded with EOS, nor of missing ends without a
tokenizer. One padding token alone between two documents, where PAD is EOS, looks like a
hidden end; it is hidden rightly, if it is none.

## References
- huggingface/transformers#23530, huggingface/trl#976 (pad_token = eos_token)
- transformers, DataCollatorForLanguageModeling (`labels == pad_token_id`)
- locuslab/open-unlearning#128 (a mask made of ids hides each end of a turn)
- huggingface/transformers#22794, huggingface/trl#1623 (no EOS is added)
"""

from collections.abc import Sequence

from ftlab.records.sample_facts import NOTHING, SampleFacts
from ftlab.rules.reading.samples import (
    Samples,
    Sight,
    closes,
    has_tokenizer,
    is_causal,
    samples_of,
)
from ftlab.rules.reading.token_rules import SampleRule
from ftlab.rules.rule import Finding, Results, Run, Severity
from ftlab.rules.words import counted

ENDS, HIDDEN, SAMPLES = 2, 2, 4
"""Ends before which training stops, samples in which one is hidden, and different
samples without any."""

LONGEST = 0.5
"""Share of the samples that may have the longest length: more are cut."""

OPENING = 2
"""Tokens behind BOS that are the same where one formatting wrote the texts."""

_WORDS = {
    "pad-is-eos": (
        "PAD and EOS are one token, and the labels of all padding are left out by its "
        "id: those of every real end too.",
        "Give the tokenizer a padding token of its own, or mask labels by the "
        "attention mask: labels[attention_mask == 0] = -100.",
    ),
    "hidden": (
        "The attention mask hides these ends, and the labels were cut by that mask.",
        "Make the mask by length, not by the ids, before labels are cut by it: "
        "arange(width) < lengths[:, None].",
    ),
    "mask": (
        "What marks the answers ends before the token that ends them.",
        "Let the mask hold the end too: {% generation %} around content and end, or a "
        "completion that closes with EOS.",
    ),
}
"""Why ends have no label, and what to do."""


class EndNotTrained(SampleRule):
    """Finds ends of texts that nothing teaches."""

    code = "DAT020"
    caused_by = ("DAT028", "DAT018")

    def check(self, run: Run) -> Results:
        """Yield one finding for hidden ends, and one for those without a label."""
        samples = samples_of(run)
        stops, sights = samples.stops, samples.sights
        hidden = samples.where(lambda e: any(token.id in stops for token in e.hidden))
        if len(hidden) >= HIDDEN:
            yield self._hidden(samples, hidden)
        known = samples.where(is_causal)
        trained = any(
            c.trained and c.id in stops for each in known for c in each.sample.controls
        )
        left_out = [e for e in known if _ends(e.sample, stops) and e.sample.exact]
        ends = sum(len(_ends(each.sample, stops)) for each in left_out)
        if not trained and ends >= ENDS:
            yield self._untrained(samples, left_out)
        endless = all(_is_endless(each.sample, samples) for each in sights)
        texts = has_tokenizer(run) or not run.facts.model
        if texts and endless and len(sights) >= SAMPLES and stops and _vary(sights):
            yield self._missing(samples)

    def _hidden(self, samples: Samples, sick: list[Sight]) -> Finding:
        count = sum(len(each.sample.hidden) for each in sick)
        piece = samples.piece(sick[0].sample.hidden[0].id)
        return self.of_samples(
            f"the attention mask hides {piece} in the middle of "
            f"{counted(len(sick), 'sample')}, {counted(count, 'time')}",
            sick,
            lambda each: each.hidden[0].position,
            cause="The mask was made of the ids (ids != pad_token_id), and the padding "
            "is a token that ends texts as well.",
            fix="The tokenizer's own mask, padded with 0 (tokenizer.pad), or one by "
            "length: arange(width) < lengths[:, None].",
            reason="hidden-within",
            evidence={
                "samples": len(sick),
                "tokens": count,
                "threshold": HIDDEN,
                "token": piece,
            },
            healthy="a mask of 1 from the first token of a text to its last",
        )

    def _untrained(self, samples: Samples, left_out: list[Sight]) -> Finding:
        first = left_out[0].sample
        end = _ends(first, samples.stops)[-1]
        number = next(s.after for s in first.stretches if s.end == end)
        reason = "pad-is-eos" if number in samples.ids("pad") else "mask"
        reason = "hidden" if end in {t.position for t in first.hidden} else reason
        cause, fix = _WORDS[reason]
        return self.of_samples(
            f"{samples.piece(number)} ends {counted(len(left_out), 'sample')} "
            "but its label is never trained, unlike the text before it",
            left_out,
            lambda each: _ends(each, samples.stops)[-1],
            severity=Severity.WARNING if reason == "mask" else Severity.ERROR,
            cause=cause,
            fix=fix,
            reason=reason,
            evidence={
                "samples": len(left_out),
                "trained_ends": 0,
                "token": samples.piece(number),
            },
            healthy="a label that counts on the end of every answer",
        )

    def _missing(self, samples: Samples) -> Finding:
        sights = samples.sights
        last = samples.piece(sights[0].sample.tail[-1])
        answers = _left_out(sights) or _alike(sights, samples)
        return self.of_samples(
            f"none of {len(sights)} samples ends with {samples.end} or holds it; the "
            f"first one ends with {last}",
            sights,
            lambda sample: sample.end - 1,
            severity=Severity.WARNING if answers else Severity.INFO,
            cause="Nothing appends EOS to the texts: the formatting writes none, and "
            "this tokenizer adds none by itself.",
            fix="text + tokenizer.eos_token in the formatting, or a chat template "
            "that closes the last answer.",
            reason="no-end",
            evidence={"samples": len(sights), "ends": 0, "token": last},
            healthy="EOS, or the end of a turn, behind every answer",
        )


def _ends(sample: SampleFacts, stops: frozenset[int]) -> list[int]:
    """List the ends that stand directly behind what is trained."""
    return [each.end for each in sample.stretches if each.after in stops]


def _is_endless(sample: SampleFacts, samples: Samples) -> bool:
    """Tell whether a sample is trained up to a last token that is common text."""
    stretches = sample.stretches
    trained = bool(stretches) and stretches[-1].after == NOTHING
    held = any(each.id in samples.stops for each in sample.controls)
    known = sample.exact and is_causal(sample)
    return known and trained and not closes(sample) and not held


def _left_out(sights: Sequence[Sight]) -> bool:
    """Tell whether each sample has a question in front that is not trained."""
    return all(
        each.sample.stretches[0].start > each.sample.start + 1 for each in sights
    )


def _alike(sights: Sequence[Sight], samples: Samples) -> bool:
    """Tell whether all samples begin as one formatting writes them."""
    bos = samples.ids("bos")
    heads = [each.sample.head for each in sights]
    begins = {
        head[1:][:OPENING] if head[:1] and head[0] in bos else head[:OPENING]
        for head in heads
    }
    return len(begins) == 1 and len(begins.pop()) == OPENING


def _vary(sights: Sequence[Sight]) -> bool:
    lengths = [each.sample.length for each in sights]
    return lengths.count(max(lengths)) <= LONGEST * len(lengths)
