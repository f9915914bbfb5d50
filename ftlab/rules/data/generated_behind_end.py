"""The rule DAT054, generated-behind-end.

## What it does
Finds calls of `generate` whose prompts end with the token that ends a text.

## Why is this bad?
In training nothing comes behind the end. Who asks the model to go on there gets another
text, or nothing: samples and scores look as if nothing was learnt. A tokenizer that
adds EOS to all that it reads (`add_eos_token`) does so to prompts as well, and so does
one that was used for training texts.

## Evidence
The last column of the prompts of up to four generations per step, on the device, where
a prompt has more than one token; and samples of the batches, 4 at least: some end with
this token, and in none does anything but whitespace follow it. There is no other
threshold. Where turns end with it and answers follow, as DialoGPT's, prompts may.
Measured: with `</s>` behind the prompts 4 of 4 end so, in each of 3 generations; as
they were trained, none.
By hand: `batch["input_ids"][:, -1] == tokenizer.eos_token_id`.

## What to try
1. `tokenizer(prompt, add_special_tokens=False)`, with BOS in the text, or cut the last
   token: `{name: value[:, :-1] for name, value in batch.items()}`.
2. `tokenizer.add_eos_token = False` where prompts are made.

## Known problems
Loops that sample without `generate` are not seen.

## References
- huggingface/transformers documentation, `LlamaTokenizer`, `add_eos_token`
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.sample_facts import SampleFacts
from ftlab.rules.reading.generations import GENERATED
from ftlab.rules.reading.samples import BEHIND, NEEDS, samples_of
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps, counted
from ftlab.runlog.run import Run

SAMPLES = 4
"""Samples of which none goes on behind the end."""


class GeneratedBehindEnd(Rule):
    """Finds prompts that are over."""

    code = "DAT054"
    name = "generated-behind-end"
    since = "0.1.0"
    status = "preview"
    requires = (GENERATED, NEEDS)

    def applies(self, run: Run) -> bool:
        """Tell whether something was generated, or nothing is known yet."""
        return not run.facts.model or GENERATED.present(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for all such generations."""
        calls = [entry for entry in run.ledger if entry.op == "generate"]
        over = [each for each in calls if each.detail.get("ended")]
        samples = samples_of(run)
        known = [each.sample for each in samples.sights]
        if not over or len(known) < SAMPLES:
            return
        first, number = over[0].detail, int(over[0].detail["end"])
        if not _is_last(known, number):
            return
        steps, piece = (over[0].step, over[-1].step), samples.piece(number)
        prompts = counted(int(first["ended"]), "prompt")
        yield self.finding(
            Severity.WARNING,
            f"{at_steps(*steps)}: generate goes on behind {piece}: {prompts} of "
            f"{first['rows']} end with it, first prompt {first['at']}, and nothing "
            "follows it in any sample",
            cause="The tokenizer adds its end to prompts, or they were made like texts "
            "to train on.",
            fix="Cut the last token of the prompts, or tokenise them with "
            "add_special_tokens=False.",
            places=[Place("token", f"{first['width'] - 1} of sample {first['at']}")],
            steps=steps,
            evidence={
                "prompts": int(first["ended"]),
                "of": int(first["rows"]),
                "generations": len(over),
                "threshold": 0,
            },
            healthy="prompts that end where an answer begins in training",
        )


def _is_last(samples: list[SampleFacts], number: int) -> bool:
    """Tell whether a token ends samples, and nothing in them goes on behind it."""
    found = [
        control.position >= sample.end - BEHIND
        for sample in samples
        for control in sample.controls
        if control.id == number
    ]
    return bool(found) and all(found)
