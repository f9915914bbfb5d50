"""The rule DAT044, positions-shifted.

## What it does
Finds texts that begin at another position than the first, in models that look their
positions up in a table: padding in front of them is counted, or the documents before
them in a packed row.

## Why is this bad?
GPT-2 and its like know what a position means from a table alone. A text behind seven
pads is read as if it began in the middle of another one, at another place in each
batch; later, and in `generate`, which counts by the attention mask, it begins at the
first.

## Evidence
The indices with which the model itself looks positions up, for a batch of the run and
for one of its rows alone, read without computing a block. Threshold: 1 position.
Measured: 5 pads in front, masked: GPT-2, GPT-Neo and BERT begin at position 5 and the
logits of a tiny GPT-2 move by 7.5; OPT counts by the mask and begins at the first.
By hand: `model(**row).logits` of a row with and without its padding.

## What to try
1. `padding_side="right"` for training: causal models never see what is behind.
2. `position_ids = (attention_mask.cumsum(-1) - 1).clamp(min=0)` in the collator.
3. For packed rows, positions that begin again at each document.

## Known problems
Rotary positions, and biases by distance, look nothing up and are left in peace: there
only distances matter. Documents that nothing but a BOS tells may be packed so on
purpose. Rows are looked at when a run begins and when its arguments change. Not looked
at: encoder-decoder models, several processes, compiled models.

## References
- huggingface/transformers#29583, #18478, #18388
- huggingface/trl#469, #6800
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.rules.reading.attention import NEEDS, looks
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run

_CAUSES = {
    "padding": "Padding stands in front of the text, and the model is given no "
    "position_ids that leave it out.",
    "documents": "The positions of a packed row run on over its documents.",
}
_FIXES = {
    "padding": "Pad on the right, or pass position_ids counted by the attention_mask.",
    "documents": "Pass position_ids that begin again at each document.",
}


class PositionsShifted(Rule):
    """Finds texts that do not begin at the first position of a table."""

    code = "DAT044"
    name = "positions-shifted"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for each reason."""
        found = [
            (look.step, shift)
            for look in looks(run)
            for shift in look.detail.get("shifts", ())
        ]
        for reason in _CAUSES:
            told = [each for each in found if each[1]["reason"] == reason]
            if told:
                yield self._finding(reason, told)

    def _finding(self, reason: str, told: list[tuple[int, dict[str, int]]]) -> Finding:
        steps = [step for step, _ in told]
        worst = max((shift for _, shift in told), key=lambda each: each["by"])
        places = [
            Place("token", f"{each['token']} of sample {each['row']}")
            for _, each in told
        ]
        samples = [Place("sample", str(each["row"])) for _, each in told]
        return self.finding(
            Severity.WARNING,
            f"{at_steps(min(steps), max(steps))}: the text at token {worst['token']} "
            f"of row {worst['row']} begins {worst['by']} positions too late",
            cause=_CAUSES[reason],
            fix=_FIXES[reason],
            places=tuple(dict.fromkeys([*places, *samples])),
            steps=(min(steps), max(steps)),
            evidence={
                "reason": reason,
                "texts": len(told),
                "positions": worst["by"],
                "sample": worst["row"],
                "position": worst["token"],
            },
            healthy="each text begins where it begins alone",
        )
