"""The rule DAT042, generated-behind-text.

## What it does
Finds calls of `generate` whose prompts end in padding, or with the token that ends a
text.

## Why is this bad?
A decoder writes its next token behind the last column. Behind padding the answer is
empty or odd for all prompts but the longest; behind an end, where nothing comes in
training, it is another text, or nothing. Samples, accuracies and rewards then say that
the training does not work.

## Evidence
The last column of the prompts of up to four generations per step, on the device; there
is no threshold. *padding*: a 0 in the attention mask, or, where `generate` gets none,
the id of the padding, unless a text may end with it: what transformers looks at before
it warns. *end*: prompts of more than one token end with a token that ends samples of
the batches, 4 at least, in none of which anything but whitespace follows it. Where
turns end with it and answers follow, as DialoGPT's, prompts may.
Measured with transformers 5.23 on a tiny Llama that had learnt two answers: padded on
the right, the shorter prompt gets another one, and the longer its own; on the left,
both get theirs. With `</s>` behind the prompts 4 of 4 end so, in each of 3 generations.
By hand: `batch["attention_mask"][:, -1]`, and
`batch["input_ids"][:, -1] == tokenizer.eos_token_id`.

## What to try
1. `tokenizer.padding_side = "left"` for prompts; training may go on with `"right"`.
   Prompts one at a time need no padding.
2. `tokenizer(prompt, add_special_tokens=False)`, with BOS in the text, or cut the last
   token; `tokenizer.add_eos_token = False` where prompts are made.

## Known problems
Loops that sample without `generate` are not seen, nor are prompts given as embeddings.
Encoder-decoders read all columns, and are left alone.

## References
- huggingface/transformers#26569, #25790, #34658
- transformers documentation, "Text generation": wrong padding side; `LlamaTokenizer`,
  `add_eos_token`
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ftlab.records.sample_facts import SampleFacts
from ftlab.records.step import LedgerEntry
from ftlab.rules.reading.generations import GENERATED
from ftlab.rules.reading.samples import BEHIND, samples_of
from ftlab.rules.rule import Finding, Place, Results, Rule, Run, to_runs_with
from ftlab.rules.words import at_steps, counted

SAMPLES = 4
"""Samples of which none goes on behind the end."""


class GeneratedBehindText(Rule):
    """Finds prompts that do not end with their text."""

    code = "DAT042"
    requires = GENERATED
    applies = to_runs_with(GENERATED.present)

    def check(self, run: Run) -> Results:
        """Yield one finding for padding, and one for ends."""
        calls = [entry for entry in run.ledger if entry.op == "generate"]
        if padded := [each for each in calls if each.detail.get("end_in_padding")]:
            first = padded[0].detail
            yield self._finding(
                "padding",
                padded,
                int(first["end_in_padding"]),
                f"behind padding: {{}} of {first['rows']} end in it, first prompt "
                f"{first['first']}",
                cause="The prompts are padded on the right, and the next token is read "
                "from the last column.",
                fix='tokenizer.padding_side = "left" for the prompts of generate; rows '
                "that are trained on may stay padded on the right.",
                places=[Place("config", "padding_side"), _last(first["first"], first)],
                healthy="attention_mask[:, -1] is 1 in every row",
            )
        samples = samples_of(run)
        known = [each.sample for each in samples.sights]
        over = [each for each in calls if each.detail.get("ended")]
        if not over or len(known) < SAMPLES:
            return
        first, number = over[0].detail, int(over[0].detail["end"])
        if _is_last(known, number):
            yield self._finding(
                "end",
                over,
                int(first["ended"]),
                f"behind {samples.piece(number)}: {{}} of {first['rows']} end with "
                f"it, first prompt {first['at']}, and nothing follows it in any sample",
                cause="The tokenizer adds its end to prompts, or they were made like "
                "texts to train on.",
                fix="Cut the last token of the prompts, or tokenise them with "
                "add_special_tokens=False.",
                places=[_last(first["at"], first)],
                healthy="prompts that end where an answer begins in training",
            )

    def _finding(
        self,
        reason: str,
        found: Sequence[LedgerEntry],
        prompts: int,
        says: str,
        *,
        cause: str,
        fix: str,
        places: Sequence[Place],
        healthy: str,
    ) -> Finding:
        steps = (found[0].step, found[-1].step)
        words = says.format(counted(prompts, "prompt"))
        return self.warning(
            f"{at_steps(*steps)}: generate goes on {words}",
            cause=cause,
            fix=fix,
            places=places,
            steps=steps,
            reason=reason,
            evidence={
                "prompts": prompts,
                "of": int(found[0].detail["rows"]),
                "generations": len(found),
                "threshold": 0,
            },
            healthy=healthy,
        )


def _last(row: object, detail: Mapping[str, Any]) -> Place:
    """Return the last token of a prompt."""
    return Place("token", f"{detail['width'] - 1} of sample {row}")


def _is_last(samples: list[SampleFacts], number: int) -> bool:
    """Tell whether a token ends samples, and nothing in them goes on behind it."""
    found = [
        control.position >= sample.end - BEHIND
        for sample in samples
        for control in sample.controls
        if control.id == number
    ]
    return bool(found) and all(found)
