"""The rule DAT042, generated-behind-padding.

## What it does
Finds calls of `generate` whose prompts end in padding.

## Why is this bad?
A decoder writes its next token behind the last column. Where padding stands there, the
answer follows padding instead of its prompt: it is empty or odd for all prompts but the
longest, and samples, accuracies and rewards that are computed of it say that the
training does not work.

## Evidence
The last column of the prompts of up to four generations per step, on the device: of the
attention mask, or, where `generate` gets none, of the ids, unless a text may end with
the id of the padding. That is what transformers looks at before it warns. There is no
threshold. Measured with transformers 5.23 on a tiny Llama that had learnt two answers:
alone each prompt gets its answer; padded on the right, the shorter prompt gets another
one, and the longer its own; padded on the left, both get theirs.
By hand: `batch["attention_mask"][:, -1]` holds a 0.

## What to try
1. `tokenizer.padding_side = "left"` for prompts; training may go on with `"right"`.
2. Prompts one at a time need no padding.

## Known problems
Loops that sample without `generate` are not seen, nor are prompts given as embeddings.
Encoder-decoders read all columns, and are left alone.

## References
- huggingface/transformers#26569, #25790, #34658
- transformers documentation, "Text generation": wrong padding side
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, Place, Severity
from ftlab.rules.reading.generations import GENERATED
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps, counted
from ftlab.runlog.run import Run


class GeneratedBehindPadding(Rule):
    """Finds prompts that are padded behind their last token."""

    code = "DAT042"
    name = "generated-behind-padding"
    since = "0.1.0"
    status = "preview"
    requires = (GENERATED,)

    def applies(self, run: Run) -> bool:
        """Tell whether something was generated, or nothing is known yet."""
        return not run.facts.model or GENERATED.present(run)

    def check(self, run: Run) -> Iterator[Finding]:
        """Yield one finding for all such generations."""
        calls = [entry for entry in run.ledger if entry.op == "generate"]
        padded = [each for each in calls if each.detail.get("end_in_padding")]
        if not padded:
            return
        first, steps = padded[0].detail, (padded[0].step, padded[-1].step)
        prompts = counted(int(first["end_in_padding"]), "prompt")
        yield self.finding(
            Severity.WARNING,
            f"{at_steps(*steps)}: generate goes on behind padding: {prompts} of "
            f"{first['rows']} end in it, first prompt {first['first']}",
            cause="The prompts are padded on the right, and the next token is read "
            "from the last column.",
            fix='tokenizer.padding_side = "left" for the prompts of generate; rows '
            "that are trained on may stay padded on the right.",
            places=[
                Place("config", "padding_side"),
                Place("token", f"{first['width'] - 1} of sample {first['first']}"),
            ],
            steps=steps,
            evidence={
                "prompts": int(first["end_in_padding"]),
                "of": int(first["rows"]),
                "generations": len(padded),
                "threshold": 0,
            },
            healthy="attention_mask[:, -1] is 1 in every row",
        )
