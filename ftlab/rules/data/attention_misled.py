"""The rule DAT007, attention-misled.

## What it does
Finds batches whose attention mask or positions do not fit their texts: the mask shows
the padding and hides the text, text attends to padding or to other documents of a
packed row, or a text begins at a wrong position or goes beyond the last one.

## Why is this bad?
The model reads something else than is meant. Of nothing but padding it learns which
words are frequent. Where padding is attended to, what a token means depends on the
other rows of its batch, and the same text alone gives other numbers. Documents are
learnt behind the text of strangers, which they will not have later, and the loss looks
well. GPT-2 and its like know what a position means from a table alone: behind seven
pads a text is read as if it began in the middle of another, and beyond the table the
lookup raises. Rotary positions go on without a word, into angles that no training has
shown, and servers refuse such lengths.

## Evidence
- *inverted*: where the mask alone says which tokens belong to a sample, the first and
  the last eight of at least 2 samples are all PAD, and there are labels to be learnt
  there or at the hidden text; 2 samples with unlike padding. Rows of padding that fill
  up a batch have no labels. Measured: `attention_mask = input_ids == pad` shows 0 of 57
  tokens of text.
- *documents*, *padding-seen*: the masks that the model made for a batch of the run,
  read without computing a block, from 0.1 % of a row's pairs. Documents are told by
  positions that begin again, `cu_seq_lens`, `seq_idx` or a BOS in the middle; padding
  is what the 2-D mask hides or, without one, PAD at the ends of a row. Causal models do
  not attend to padding behind the text. Measured: two documents and more in one row, 40
  to 94 %, and logits of later ones move when the first is changed; kept apart 0. 4 of
  24 tokens padded on the left without a mask, 15 to 35 %; with it 0.
- *padding*, *documents-run-on*: the indices with which the model itself looks positions
  up in a table, for a batch and for one of its rows alone, differ by 1 or more.
  Measured: 5 pads in front, masked: GPT-2, GPT-Neo and BERT begin at position 5 and the
  logits of a tiny GPT-2 move by 7.5; OPT counts by the mask and begins at the first.
- *beyond-range*: real tokens, counted from the first of them and as position ids tell,
  reach `max_position_embeddings` of the model's config; scaled rotary positions reach
  as far as their factor says. Measured: a Llama for 64 positions trains on rows of 76
  without a sign, GPT-2 raises.

By hand: `ftlab.masks(trainer)`, `tokenizer.decode(ids[0][mask[0] == 1])`, the logits of
a row with and without its padding, `max(map(len, dataset["input_ids"]))`.

## What to try
1. The mask that the tokenizer returns, or `(input_ids != pad).long()`; `~mask` where a
   mask of torch's (`key_padding_mask`, True is hidden) goes to transformers (1 is
   seen). A PAD that is not EOS, where the mask is made from the ids.
2. For packed rows, positions that begin again, no `attention_mask` beside them and
   `use_cache=False`: only then transformers looks for packed rows (eager, sdpa, flex).
   Or flash attention, or a 4-D mask of blocks.
3. `padding_side="right"` for training, or
   `position_ids = (attention_mask.cumsum(-1) - 1).clamp(min=0)` in the collator.
4. A `max_length` that is not above the model's limit, or `rope_parameters` that scale.

## Known problems
Documents that nothing but a BOS tells may be packed so on purpose: a note, and left out
without a tokenizer. A PAD that is EOS as well is padding from the second on. Rotary
positions and biases by distance look nothing up: only distances matter there. Long rows
may be trained on purpose, with a greater base and the old limit in the config; nothing
is said of positions that scale with the length, of windows in all layers, and of models
that see pictures. Rows are looked at when a run begins and when its arguments change,
not in several processes or compiled models, positions not in encoder-decoders.

## References
- torch, `MultiheadAttention`: `key_padding_mask`; transformers, `attention_mask`
- transformers, `masking_utils._preprocess_mask_arguments`,
  `PreTrainedConfig.max_position_embeddings`
- huggingface/transformers#46634 (documents), #25790 (padding)
- huggingface/transformers#29583, #18478, #18388, huggingface/trl#469, #6800 (positions)
- huggingface/transformers#10015, huggingface/sentence-transformers#1600 (range)
"""

from typing import Any

from ftlab.records.sample_facts import SampleFacts
from ftlab.rules.reading.attention import LEAST, NEEDS, faulty, looks, places
from ftlab.rules.reading.samples import (
    NEEDS as ROWS,
    Samples,
    has_tokenizer,
    row_places,
    samples_of,
)
from ftlab.rules.reading.token_rules import SampleRule
from ftlab.rules.rule import Finding, Place, Results, Run, Severity, either
from ftlab.rules.words import at_steps

SAMPLES = 2
"""Samples of which nothing but padding is seen, and labels that count beside them."""

_SHIFTED = {
    "padding": (
        "Padding stands in front of the text, and the model is given no position_ids "
        "that leave it out.",
        "Pad on the right, or pass position_ids counted by the attention_mask.",
    ),
    "documents": (
        "The positions of a packed row run on over its documents.",
        "Pass position_ids that begin again at each document.",
    ),
}
"""Why texts begin late, and what to do."""

_REASONS = {"padding": "padding", "documents": "documents-run-on"}


class AttentionMisled(SampleRule):
    """Finds texts that are read with a wrong mask or at wrong positions."""

    code = "DAT007"
    caused_by = ("EXP006", "EXP001")
    requires = either(NEEDS, ROWS)

    def check(self, run: Run) -> Results:
        """Yield one finding for each reason."""
        yield from self._inverted(run)
        if not NEEDS.present(run):
            yield self.lacks(NEEDS)
            return
        documents = [
            each
            for each in faulty(run, "other sample")
            if each[1]["told_by"] != "BOS" or has_tokenizer(run)
        ]
        for reason, found in (
            ("documents", documents),
            ("padding-seen", faulty(run, "padding")),
        ):
            if found:
                yield self._seen(reason, found)
        shifts = [
            (look.step, shift)
            for look in looks(run)
            for shift in look.detail.get("shifts", ())
        ]
        for reason in _SHIFTED:
            if told := [each for each in shifts if each[1]["reason"] == reason]:
                yield self._shifted(reason, told)
        beyond = [
            (e.step, e.detail["beyond"]) for e in looks(run) if "beyond" in e.detail
        ]
        if beyond:
            yield self._beyond(beyond)

    def _inverted(self, run: Run) -> Results:
        samples = samples_of(run)
        sick = samples.where(lambda sample: _is_inverted(sample, samples))
        if len(sick) < SAMPLES:
            return
        yield self.of_samples(
            f"the attention mask shows nothing but "
            f"{samples.piece(sick[0].sample.head[0])} of {len(sick)} samples, and "
            "hides their text",
            sick,
            lambda sample: sample.start,
            severity=Severity.ERROR,
            cause="The mask is 1 at the padding and 0 at the text.",
            fix="attention_mask = (input_ids != pad_token_id).long().",
            reason="inverted",
            evidence={"samples": len(sick), "threshold": SAMPLES},
            healthy="1 at the text, 0 at the padding",
        )

    def _seen(
        self, reason: str, found: list[tuple[int, dict[str, Any], dict[str, Any]]]
    ) -> Finding:
        """Tell of what a row attends to and must not."""
        step, worst, detail = max(found, key=lambda each: each[1]["share"])
        by_bos = all(place["told_by"] == "BOS" for _, place, _ in found)
        apart = reason == "documents"
        return self.finding(
            Severity.INFO if apart and by_bos else Severity.WARNING,
            f"{at_steps(step, step)}: {worst['share']:.1%} of what row {worst['row']} "
            + (
                f"attends to belongs to other documents, told by {worst['told_by']}"
                if apart
                else "attends to is padding"
            ),
            cause=_cause(detail, by_bos=by_bos)
            if apart
            else "The attention_mask is not 0 at the padding."
            if detail["mask"]
            else "The model is given no attention_mask.",
            fix="Pass position_ids that begin again, no attention_mask and "
            "use_cache=False."
            if apart
            else "Pass attention_mask, 0 at the padding.",
            places=places(found),
            steps=(step, step),
            reason=reason,
            evidence={
                "share": worst["share"],
                "tokens": worst["tokens"],
                "query": worst["query"],
                "key": worst["key"],
                "threshold": LEAST,
            },
            healthy="0 % across documents" if apart else "0 % on padding",
        )

    def _shifted(self, reason: str, told: list[tuple[int, dict[str, int]]]) -> Finding:
        steps = [step for step, _ in told]
        worst = max((shift for _, shift in told), key=lambda each: each["by"])
        cause, fix = _SHIFTED[reason]
        return self.warning(
            f"{at_steps(min(steps), max(steps))}: the text at token {worst['token']} "
            f"of row {worst['row']} begins {worst['by']} positions too late",
            cause=cause,
            fix=fix,
            places=_tokens([shift for _, shift in told]),
            steps=(min(steps), max(steps)),
            reason=_REASONS[reason],
            evidence={
                "texts": len(told),
                "positions": worst["by"],
                "sample": worst["row"],
                "position": worst["token"],
            },
            healthy="each text begins where it begins alone",
        )

    def _beyond(self, found: list[tuple[int, dict[str, int]]]) -> Finding:
        step, first = found[0]
        longest = max(each["last"] for _, each in found) + 1
        return self.warning(
            f"{at_steps(step, found[-1][0])}: {longest} positions in a row of a model "
            f"for {first['limit']}",
            cause="Rows are longer than max_position_embeddings of the model's config.",
            fix="Cut or leave out what is longer, or scale the rotary positions.",
            places=_tokens([first]),
            steps=(step, found[-1][0]),
            reason="beyond-range",
            evidence={
                "positions": longest,
                "threshold": first["limit"],
                "sample": first["row"],
                "position": first["token"],
            },
            healthy="rows within the model's positions",
        )


def _is_inverted(sample: SampleFacts, samples: Samples) -> bool:
    pads = samples.ids("pad")
    seen = {*sample.head, *sample.tail}
    if not (sample.exact and seen and seen <= pads):
        return False
    plain = not pads & samples.stops
    return sample.padding_trained >= SAMPLES or (plain and sample.trained > 0)


def _tokens(found: list[dict[str, int]]) -> list[Place]:
    tokens = row_places((str(each["row"]), each["token"]) for each in found)
    return list(dict.fromkeys(tokens))


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
