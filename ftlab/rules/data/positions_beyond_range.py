"""The rule DAT045, positions-beyond-range.

## What it does
Finds texts that are longer than the positions that their model is made for.

## Why is this bad?
A table has no row there: the lookup raises "index out of range in self", on CUDA a
device-side assert. Rotary positions go on without a word, into angles that no
training has shown: what is learnt there is learnt from noise, and servers refuse such
lengths.

## Evidence
Rows whose real tokens, counted from the first of them and as position ids tell, reach
`max_position_embeddings` of the model's config; scaled rotary positions reach as far as
their factor says. Read only of batches that are wide enough. Threshold: the limit of
the model.
Measured: a Llama for 64 positions trains on rows of 76 without a sign, GPT-2 raises.
By hand: `max(map(len, dataset["input_ids"]))`, `model.config.max_position_embeddings`.

## What to try
1. A `max_length` that is not above the model's limit.
2. Rows that are packed: positions that begin again at each document.
3. Rotary positions that are scaled (`rope_parameters`), where long rows are wanted.

## Known problems
Long rows may be trained on purpose, with a greater base and the old limit left in the
config. Nothing is said of positions that scale with the length, of windows in all
layers, of biases by distance, and of models that see pictures. The first batch of that
width is named.

## References
- huggingface/transformers#10015, huggingface/sentence-transformers#1600
- transformers, `PreTrainedConfig.max_position_embeddings`
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.rules.reading.attention import NEEDS, looks
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run


class PositionsBeyondRange(Rule):
    """Finds texts that are longer than their model's positions."""

    code = "DAT045"
    name = "positions-beyond-range"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for the first of them."""
        found = [
            (e.step, e.detail["beyond"]) for e in looks(run) if "beyond" in e.detail
        ]
        if not found:
            return
        step, first = found[0]
        longest = max(each["last"] for _, each in found) + 1
        yield self.finding(
            Severity.WARNING,
            f"{at_steps(step, found[-1][0])}: {longest} positions in a row of a model "
            f"for {first['limit']}",
            cause="Rows are longer than max_position_embeddings of the model's config.",
            fix="Cut or leave out what is longer, or scale the rotary positions.",
            places=(
                Place("token", f"{first['token']} of sample {first['row']}"),
                Place("sample", str(first["row"])),
            ),
            steps=(step, found[-1][0]),
            evidence={
                "positions": longest,
                "threshold": first["limit"],
                "sample": first["row"],
                "position": first["token"],
            },
            healthy="rows within the model's positions",
        )
