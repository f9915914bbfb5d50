"""The rule DAT015, decoder-start-wrong.

## What it does
Finds encoder-decoders whose decoder is given its start token twice in a row, or text
first, and never the token that a generation begins with.

## Why is this bad?
The model puts the start token in front of the labels by itself. Where labels begin with
it, the decoder learns to answer the start with another one, and another engine begins
an answer in a way that no sample has taught. Where somebody has shifted the answers by
hand, the first token of each is given and never asked for: at inference the decoder
begins with a token that it has not seen in training.

## Evidence
The first two ids that go into the decoder, of up to 16 rows of due steps. *twice*: the
same token twice, in half of the rows, 2 at least. A first label that is another token,
BOS or a language code, is right; so are models that put what stands last in front
(mBART). *missing*: in 4 rows at least and 90 % of them the first id is text, no control
token, and not `decoder_start_token_id`; none begins with it.
Measured: a T5 with `[decoder_start_token_id] + target` as labels begins all of 32 rows
twice, with the target as it is none; one that is given `labels[:, :-1]` begins with
text in 16 of 16 rows; BART, mBART and M2M100 with their tokenizers' labels do neither.
By hand: `model.prepare_decoder_input_ids_from_labels(labels)[:, :2]`.

## What to try
1. `model(input_ids=..., labels=answers)`: the model shifts them by itself.
2. Labels without the start token: `labels = labels[:, 1:]`, for Whisper too.

## Known problems
Models made of an encoder and a decoder (EncoderDecoderModel, TrOCR) are trained with
two starts in their own documentation, with `[CLS]`: they answer well and make one token
more. There it is information. Answers that begin with another special token, as BART's
with BOS, are left alone.

## References
- huggingface/transformers#7077 (labels of T5 must not begin with the start token)
- huggingface/transformers#5987 (how targets of T5 are shifted)
- transformers, `shift_tokens_right`; `EncoderDecoderModel.forward`, its example
"""

from collections.abc import Sequence

from ftlab.records.event import Event
from ftlab.rules.reading.decoders import NEEDS, seen
from ftlab.rules.reading.samples import row_name, row_places
from ftlab.rules.rule import Finding, Place, Results, Rule, Run, Severity, to_runs_with
from ftlab.rules.words import at_steps

TWICE, OF_TWICE = 2, 0.5
"""Rows that begin twice, and their share of all."""

WORDED, OF_WORDED = 4, 0.9
"""Rows that begin with text, and their share of all."""

Row = tuple[Event, list[int]]
"""What was told, and a row of it: micro-batch, number, first and second id."""


class DecoderStartWrong(Rule):
    """Finds decoders that are started twice, or never as they will be."""

    code = "DAT015"
    requires = NEEDS
    applies = to_runs_with(seen)

    def check(self, run: Run) -> Results:
        """Yield one finding for all rows."""
        events = [event for event in run.whole.events if event.kind == "decoder"]
        rows = [(event, row) for event in events for row in event.detail["rows"]]
        twice = [each for each in rows if each[1][2] == each[1][3]]
        if len(twice) >= max(TWICE, OF_TWICE * len(rows)):
            yield self._twice(twice, len(rows))
        start = max((int(e.detail.get("start", -1)) for e in events), default=-1)
        if start < 0 or any(row[2] == start for _, row in rows):
            return
        worded = [each for each in rows if each[1][2] not in each[0].detail["control"]]
        if len(worded) >= max(WORDED, OF_WORDED * len(rows)):
            yield self._missing(worded, len(rows), start)

    def _twice(self, twice: Sequence[Row], total: int) -> Finding:
        composed = any(event.detail.get("composed") for event, _ in twice)
        number = twice[0][1][1]
        return self._finding(
            "twice",
            Severity.INFO if composed else Severity.WARNING,
            twice,
            total,
            f"the decoder is given {_said(twice)} twice before {len(twice)} of {total} "
            f"answers, the first in sample {number}",
            cause="Labels begin with the token that the model puts in front of them.",
            fix="Labels without the start token: labels[:, 1:].",
        )

    def _missing(self, worded: Sequence[Row], total: int, start: int) -> Finding:
        return self._finding(
            "missing",
            Severity.WARNING,
            worded,
            total,
            f"the decoder is given text first in {len(worded)} of {total} rows, such "
            f"as {_said(worded)}, and never token {start}, with which a generation "
            "begins",
            cause="decoder_input_ids were made of the answers without the start token "
            "in front.",
            fix="model(input_ids=..., labels=answers), without decoder_input_ids.",
        )

    def _finding(
        self,
        reason: str,
        severity: Severity,
        rows: Sequence[Row],
        total: int,
        says: str,
        *,
        cause: str,
        fix: str,
    ) -> Finding:
        steps = [event.step for event, _ in rows]
        names = [row_name(row[0], row[1]) for _, row in rows]
        first = rows[0][1]
        return self.finding(
            severity,
            f"{at_steps(min(steps), max(steps))}: {says}",
            cause=cause,
            fix=fix,
            places=[
                *row_places((name, 0) for name in names),
                Place("config", "decoder_start_token_id"),
            ],
            steps=(min(steps), max(steps)),
            reason=reason,
            evidence={
                "rows": len(rows),
                "all": total,
                "threshold": OF_TWICE if reason == "twice" else OF_WORDED,
                "token": first[2],
                "sample": first[1],
                "position": 0,
            },
            healthy="one start token, and then what the answer begins with",
        )


def _said(rows: Sequence[Row]) -> str:
    """Name the first token of the first row."""
    event, row = rows[0]
    piece = event.detail["pieces"].get(str(row[2]))
    return f"token {row[2]}" if piece is None else repr(piece)
