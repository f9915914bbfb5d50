"""The rule DAT015, decoder-start-twice.

## What it does
Finds encoder-decoders whose decoder is given its start token twice in a row.

## Why is this bad?
The model puts the start token in front of the labels by itself. Where labels begin with
it, the decoder learns to answer the start with another one: a position and a step of
each generation are lost, and a start with forced tokens or another engine begins an
answer in a way that no sample has taught.

## Evidence
The first two ids that go into the decoder, of up to 16 rows of due steps: the same
token twice, in half of the rows, 2 at least. A first label that is another token, BOS
or a language code, is right; so are models that put what stands last in front (mBART).
Measured: a T5 with `[decoder_start_token_id] + target` as labels begins all of 32 rows
twice; with the target as it is, none; BART, mBART and M2M100 with their tokenizers'
labels, none.
By hand: `model.prepare_decoder_input_ids_from_labels(labels)[:, :2]`.

## What to try
1. Labels without the start token: `labels = labels[:, 1:]`.
2. For Whisper: cut the first label where all rows begin with `decoder_start_token_id`.

## Known problems
Models made of an encoder and a decoder (EncoderDecoderModel, TrOCR) are trained so in
their own documentation, with `[CLS]` as the start: they answer well and make one token
more. There it is information.

## References
- huggingface/transformers#7077 (labels of T5 must not begin with the start token)
- transformers, `shift_tokens_right`; `EncoderDecoderModel.forward`, its example
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.rules.reading.decoders import NEEDS, row_name, seen
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run

ROWS, SHARE = 2, 0.5
"""Rows that begin twice, and their share of all."""


class DecoderStartTwice(Rule):
    """Finds decoders that are started twice."""

    code = "DAT015"
    name = "decoder-start-twice"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def applies(self, run: Run) -> bool:
        """Tell whether a decoder was seen, or nothing is known of the run."""
        return not run.facts.model or seen(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for all rows."""
        events = [event for event in run.whole.events if event.kind == "decoder"]
        rows = [(event.step, *row) for event in events for row in event.detail["rows"]]
        twice = [each for each in rows if each[3] == each[4]]
        if len(twice) < max(ROWS, SHARE * len(rows)):
            return
        pieces = {k: v for event in events for k, v in event.detail["pieces"].items()}
        steps, (_, _, row, start, _) = [each[0] for each in twice], twice[0]
        piece = pieces.get(str(start))
        token = f"token {start}" if piece is None else repr(piece)
        names = [row_name(m, r) for _, m, r, *_ in twice]
        composed = any(event.detail.get("composed") for event in events)
        yield self.finding(
            Severity.INFO if composed else Severity.WARNING,
            f"{at_steps(min(steps), max(steps))}: the decoder is given {token} twice "
            f"before {len(twice)} of {len(rows)} answers, the first in sample {row}",
            cause="Labels begin with the token that the model puts in front of them.",
            fix="Labels without the start token: labels[:, 1:].",
            places=[
                *(Place("token", f"0 of sample {name}") for name in names),
                *(Place("sample", name) for name in dict.fromkeys(names)),
            ],
            steps=(min(steps), max(steps)),
            evidence={
                "rows": len(twice),
                "all": len(rows),
                "threshold": SHARE,
                "token": start,
                "sample": row,
                "position": 0,
            },
            healthy="one start token, and then what the answer begins with",
        )
