"""The rule DAT049, decoder-start-missing.

## What it does
Finds encoder-decoders whose decoder is given text first, and never the token that a
generation begins with.

## Why is this bad?
Somebody has shifted the answers by hand: the first token of each is given and never
asked for. At inference the decoder begins with its start token, which it has not seen
in training, and has to say the token that it was always given.

## Evidence
The first ids of some rows, read where they go into the decoder, and
`decoder_start_token_id` of the generation config or the model's. In 4 rows at least and
90 % of them the first id is text, no control token, and not the start; none begins with
it.
Measured: a T5 that is given `labels[:, :-1]` and asked for `labels[:, 1:]` begins with
text in 16 of 16 rows, and with `<pad>` in 16 of 16 that are given labels alone.
By hand: `batch["decoder_input_ids"][:, 0]`, `model.config.decoder_start_token_id`.

## What to try
1. `model(input_ids=..., labels=answers)`: the model shifts them by itself.
2. By hand, the start token in front: `[start, *answer[:-1]]` for the labels `answer`.

## Known problems
Answers that begin with another special token, as BART's with BOS and mBART's with a
language, are left alone.

## References
- huggingface/transformers#5987 (how targets of T5 are shifted)
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.rules.reading.decoders import NEEDS, row_name, seen
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run

ROWS, SHARE = 4, 0.9
"""Rows that begin with text, and their share of all."""


class DecoderStartMissing(Rule):
    """Finds decoders that are never started as they will be."""

    code = "DAT049"
    name = "decoder-start-missing"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def applies(self, run: Run) -> bool:
        """Tell whether a decoder was seen, or nothing is known of the run."""
        return not run.facts.model or seen(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for all rows."""
        events = [event for event in run.whole.events if event.kind == "decoder"]
        start = max((int(e.detail.get("start", -1)) for e in events), default=-1)
        rows = [(event, row) for event in events for row in event.detail["rows"]]
        begun = any(row[2] == start for _, row in rows)
        worded = [
            (event, row) for event, row in rows if row[2] not in event.detail["control"]
        ]
        if start < 0 or begun or len(worded) < max(ROWS, SHARE * len(rows)):
            return
        steps = [event.step for event, _ in worded]
        event, (_, row, first, _) = worded[0]
        pieces = event.detail["pieces"]
        said = repr(pieces[str(first)]) if str(first) in pieces else f"token {first}"
        names = [row_name(micro, number) for _, (micro, number, *_) in worded]
        yield self.finding(
            Severity.WARNING,
            f"{at_steps(min(steps), max(steps))}: the decoder is given text first in "
            f"{len(worded)} of {len(rows)} rows, such as {said}, and never token "
            f"{start}, with which a generation begins",
            cause="decoder_input_ids were made of the answers without the start token "
            "in front.",
            fix="model(input_ids=..., labels=answers), without decoder_input_ids.",
            places=[
                *(Place("token", f"0 of sample {name}") for name in names),
                Place("config", "decoder_start_token_id"),
            ],
            steps=(min(steps), max(steps)),
            evidence={
                "rows": len(worded),
                "all": len(rows),
                "threshold": SHARE,
                "token": first,
                "start": start,
                "sample": row,
                "position": 0,
            },
            healthy="the start token, and then the answer",
        )
